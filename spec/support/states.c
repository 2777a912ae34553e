/* A host with several Lua states: each has an operating system thread of its own, and all run the same script.
 *
 *   states COUNT SCRIPT      built once for Lua 5.1 and once for LuaJIT: see the Makefile
 *
 * The script sees, besides Lua's libraries:
 *   me, count            the number of its state, from 1, and how many there are
 *   send(to, text)       puts a text into the box of state `to`; never waits
 *   receive()            the oldest text in the own box; waits for it
 *   meet()               waits until all states have come to it
 *   closed(n)            waits until state n has ended its script and is closed
 * When all are closed, the script runs once more, in a new state whose number is 0: it can look at what is left.
 *
 * An error ends the process with status 1. So does waiting too long: STATES_SECONDS (environment; 60) for all, then SIGALRM. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

typedef struct Letter {
  struct Letter *next;
  size_t length;
  char text[];
} Letter;

typedef struct Member {
  pthread_t thread;
  int number;
  Letter *first, **last; /* its box */
  pthread_cond_t came;   /* something has been put into it */
  int closed;
} Member;

static const char *script;
static int count;
static Member *members; /* 1 to count */
static pthread_barrier_t meeting;
/* Guards the boxes and `closed`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_closed = PTHREAD_COND_INITIALIZER;

static void die(const char *message) {
  fprintf(stderr, "states: %s\n", message);
  fflush(NULL);
  _exit(1);
}

static Member *member(lua_State *L, int argument) {
  lua_Integer number = luaL_checkinteger(L, argument);
  luaL_argcheck(L, number >= 1 && number <= count, argument, "no such state");
  return &members[number];
}

static Member *myself(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

static int l_send(lua_State *L) {
  Member *to = member(L, 1);
  size_t length;
  const char *text = luaL_checklstring(L, 2, &length);
  Letter *letter = malloc(sizeof *letter + length);
  if (letter == NULL)
    die("no memory");
  letter->next = NULL;
  letter->length = length;
  memcpy(letter->text, text, length);
  pthread_mutex_lock(&lock);
  *to->last = letter;
  to->last = &letter->next;
  pthread_cond_signal(&to->came);
  pthread_mutex_unlock(&lock);
  return 0;
}

static int l_receive(lua_State *L) {
  Member *me = myself(L);
  pthread_mutex_lock(&lock);
  while (me->first == NULL)
    pthread_cond_wait(&me->came, &lock);
  Letter *letter = me->first;
  me->first = letter->next;
  if (me->first == NULL)
    me->last = &me->first;
  pthread_mutex_unlock(&lock);
  lua_pushlstring(L, letter->text, letter->length);
  free(letter);
  return 1;
}

static int l_meet(lua_State *L) {
  (void)L;
  pthread_barrier_wait(&meeting);
  return 0;
}

static int l_closed(lua_State *L) {
  Member *other = member(L, 1);
  pthread_mutex_lock(&lock);
  while (!other->closed)
    pthread_cond_wait(&one_closed, &lock);
  pthread_mutex_unlock(&lock);
  return 0;
}

static int traced(lua_State *L) {
  lua_getglobal(L, "debug");
  lua_getfield(L, -1, "traceback");
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 2);
  lua_call(L, 2, 1);
  return 1;
}

/* Runs the script in a new state, and closes it. */
static void run(Member *me) {
  static const luaL_Reg functions[] = {
    { "send", l_send }, { "receive", l_receive }, { "meet", l_meet }, { "closed", l_closed }, { NULL, NULL }
  };
  lua_State *L = luaL_newstate();
  if (L == NULL)
    die("no memory for a Lua state");
  luaL_openlibs(L);
  for (const luaL_Reg *f = functions; f->name != NULL; f++) {
    lua_pushlightuserdata(L, me);
    lua_pushcclosure(L, f->func, 1);
    lua_setglobal(L, f->name);
  }
  lua_pushinteger(L, me->number);
  lua_setglobal(L, "me");
  lua_pushinteger(L, count);
  lua_setglobal(L, "count");
  lua_pushcfunction(L, traced);
  if (luaL_loadfile(L, script) != 0 || lua_pcall(L, 0, 0, 1) != 0) {
    fprintf(stderr, "state %d: %s\n", me->number, lua_tostring(L, -1));
    die("a script failed");
  }
  lua_close(L);
}

static void *begin(void *argument) {
  Member *me = argument;
  run(me);
  pthread_mutex_lock(&lock);
  me->closed = 1;
  pthread_cond_broadcast(&one_closed);
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(int argc, char **argv) {
  count = argc == 3 ? atoi(argv[1]) : 0;
  if (count < 1 || count > 1000)
    die("usage: states COUNT SCRIPT");
  script = argv[2];
  const char *seconds = getenv("STATES_SECONDS");
  alarm(seconds != NULL ? (unsigned)atoi(seconds) : 60);
  members = calloc(count + 1, sizeof *members);
  if (members == NULL || pthread_barrier_init(&meeting, NULL, count) != 0)
    die("no memory");
  for (int i = 0; i <= count; i++) {
    members[i].number = i;
    members[i].last = &members[i].first;
    pthread_cond_init(&members[i].came, NULL);
  }
  for (int i = 1; i <= count; i++)
    if (pthread_create(&members[i].thread, NULL, begin, &members[i]) != 0)
      die("no thread");
  for (int i = 1; i <= count; i++)
    pthread_join(members[i].thread, NULL);
  run(&members[0]);
  for (int i = 0; i <= count; i++)
    for (Letter *letter = members[i].first; letter != NULL;) {
      Letter *next = letter->next;
      free(letter);
      letter = next;
    }
  free(members);
  pthread_barrier_destroy(&meeting);
  return 0;
}

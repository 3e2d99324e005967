// The way of one process to a lock and back as a pure machine. The effects are carried out by locks.cpp; what it takes to pass the dead over
// is in recovery.hpp, which answers with free, busy or served.
//
//   away --lock--> taking --served--> held                        the ticket is served already
//                  taking --not_yet--> looking --served--> asking
//                                      looking --not_yet--> waiting --told, served--> asking --deaths--> held
//   away --try_lock--> trying --served, not_yet--> as from taking
//                      trying --busy--> away
//                      trying --doubt--> probing                  it is taken, maybe by one of the dead
//                      probing --free--> trying | --busy--> away | --served--> asking
//   held --unlock--> leaving --alone--> away
//                    leaving --followed--> naming --named--> away         tells whoever is next
//   any  --lost--> away
//
// What is done in direct memory without waiting (lock_now, unlock_now) takes the same steps at once.
#pragma once

#include <cstdint>

namespace heddle::onesided::lock {

enum class State : std::uint8_t {
  away,    // nothing
  taking,  // asked for a ticket
  trying,  // try_lock: asked for a ticket if the lock is free
  probing, // try_lock: looks whether all who have tickets are dead
  looking, // has a ticket, looks whether it is served
  waiting, // until it is told
  asking,  // is served, asks whether somebody died
  held,
  leaving, // serves the next ticket
  naming,  // asks who that is
};
inline constexpr unsigned kStates = 10;

enum class Input : std::uint8_t {
  lock, // the program's calls
  try_lock,
  unlock,
  free,     // nobody has a ticket
  moved,    // the same, and the ticket that was tried for is another by now
  busy,     // somebody who lives has a ticket
  doubt,    // somebody has, who may be dead
  served,   // its own ticket is served
  not_yet,  // another one is
  told,     // a record says that its ticket is served
  deaths,   // what has become of those before it is known
  alone,    // nobody has a ticket behind it
  followed, // somebody has
  named,    // who that is, is known
  lost,     // the lock or its home is gone
};
inline constexpr unsigned kInputs = 15;

enum class Effect : std::uint8_t {
  none,
  take_ticket,    // say so, and fetch-and-add
  look_first,     // see whether a try makes sense
  try_ticket,     // say so, and compare-and-swap from what a free lock looks like
  try_again,      // compare-and-swap from what it does look like
  probe,          // read the whole lock, and judge it
  claim,          // write the claim: it holds the lock
  claim_and_look, // write the claim, then look whether the ticket has been served meanwhile
  remember,       // it is served, though the look that is under way may not show it
  wait,           // stand among what is looked at again and again
  ask,            // say that it holds the lock, and ask for the deaths
  hold,           // it holds the lock, and knows of the deaths
  serve_next,     // fetch-and-add
  ask_name,       // read the next one's claim
  tell,           // tell the next one; the lock is given back
  leave,          // the lock is given back
  end_busy,       // the call ends with lock_busy
  refuse,         // the call ends with bad_argument
  give_up,        // the call that waits ends
  violation,      // an answer to nothing that was asked: it is left alone
};

struct Step {
  State next{};
  Effect effect{};
};

Step step(State state, Input input);

} // namespace heddle::onesided::lock

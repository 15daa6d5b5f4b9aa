import type { World } from '#runtime/world'

/** A client's own request id is accepted only in this form: it goes into headers and log lines. */
const echoable = /^[A-Za-z0-9._-]{1,64}$/

/**
 * Makes request ids: the client's own, otherwise a random prefix of this process and a number. Only the prefix is
 * random: a request id has to be unique, but may be guessed.
 */
export function requestIds(world: World): (asked: string) => string {
  const prefix = Buffer.from(world.random(6)).toString('base64url')
  let made = 0
  return (asked) => {
    if (asked !== '' && echoable.test(asked)) return asked
    made++
    return `${prefix}.${made.toString(36)}`
  }
}

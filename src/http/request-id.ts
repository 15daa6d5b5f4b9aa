import type { World } from '#runtime/world'

/** A client's own request id is echoed when it can be nothing but a name: it ends up in headers and log lines. */
const echoable = /^[A-Za-z0-9._-]{1,64}$/

/**
 * Names requests: the client's name, else a prefix of this start and a number. Chance is asked once and not per
 * request; a request id has to be unique, nobody has to be unable to guess it.
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

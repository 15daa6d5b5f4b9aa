import { ownText } from '#link/own-text'
import type { HelloMessage } from '#model/link-message'
import type { World } from '#runtime/world'

/** The session a HELLO names. One of its own for a device that names none: longer than any that can be named. Contract 7. */
export function sessionOf({ session }: HelloMessage, world: World): string {
  return session === undefined ? `nameless:${Buffer.from(world.random(16)).toString('hex')}` : ownText(session)
}

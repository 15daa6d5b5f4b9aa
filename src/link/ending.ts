import type { Link } from '#link/link'
import { type CloseReason, closeCodes } from '#runtime/close-codes'
import type { World } from '#runtime/world'

/** Closing one takes some ten microseconds, and what follows from it as many again. */
const endedAtATime = 100

/** From now on nothing is taken from them. They are closed some at a time: there may be fifteen thousand. */
export function endAll(world: World, links: readonly Link[], reason: CloseReason = closeCodes.sessionOver): void {
  for (const link of links) link.stopTaking()
  endSome(world, links, reason)
}

function endSome(world: World, links: readonly Link[], reason: CloseReason): void {
  for (const link of links.slice(0, endedAtATime)) link.end(reason)
  const rest = links.slice(endedAtATime)
  if (rest.length > 0) world.soon(() => endSome(world, rest, reason))
}

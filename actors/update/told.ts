import type { StoredUpdate, ToldUpdate } from '#actors/update/state'

/** What was told last of the firmware that the update is of now. */
export function toldOf({ state, context }: StoredUpdate): ToldUpdate {
  const { index, offer, progress, message, toldAt } = context
  return {
    index,
    at: toldAt,
    status: state,
    ...(offer && { firmware: offer.firmware }),
    ...(progress !== null && { progress }),
    ...(message !== null && { message }),
  }
}

/** What was told last of one firmware of the device; undefined: nothing ever was. */
export function toldAbout(stored: StoredUpdate, index: number): ToldUpdate | undefined {
  return stored.context.index === index ? toldOf(stored) : stored.earlier?.find((told) => told.index === index)
}

/**
 * What has to be told, behind a turn, of the firmware that was looked at before and had nothing newer: that somebody asked
 * for it was told, and would stand there for ever.
 */
export function passedOver(before: StoredUpdate | undefined, index: number, now: number): ToldUpdate | undefined {
  if (before?.state !== 'checking' || before.context.index === index) return undefined
  return { index: before.context.index, at: now, status: 'idle', message: 'NO_UPDATE' }
}

/** What was told of all firmwares but the one that the update is of behind a turn. */
export function earlierAfter(
  before: StoredUpdate | undefined,
  index: number,
  passed: ToldUpdate | undefined,
): readonly ToldUpdate[] | undefined {
  if (!before || before.context.index === index) return before?.earlier
  const last = passed ?? toldOf(before)
  const others = before.earlier?.filter((told) => told.index !== index && told.index !== last.index) ?? []
  return [...others, last]
}

import type { StoredUpdate, ToldUpdate } from '#actors/update/state'

/** The published state of the current firmware. */
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

/** The last published state of one firmware of the device; undefined: never published. */
export function toldAbout(stored: StoredUpdate, index: number): ToldUpdate | undefined {
  return stored.context.index === index ? toldOf(stored) : stored.earlier?.find((told) => told.index === index)
}

/**
 * The correction to publish after a turn for the firmware that was checked before and had no newer version. Its
 * checking state was published and would otherwise stay for ever.
 */
export function passedOver(before: StoredUpdate | undefined, index: number, now: number): ToldUpdate | undefined {
  if (before?.state !== 'checking' || before.context.index === index) return undefined
  return { index: before.context.index, at: now, status: 'idle', message: 'NO_UPDATE' }
}

/** The published states of all firmwares except the one of the current update. */
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

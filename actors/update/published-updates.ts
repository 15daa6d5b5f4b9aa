import type { PublishedUpdate, StoredUpdate } from '#actors/update/state'

/** The published state of the current firmware. */
export function publishedOf({ state, context }: StoredUpdate): PublishedUpdate {
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
export function publishedFor(stored: StoredUpdate, index: number): PublishedUpdate | undefined {
  return stored.context.index === index
    ? publishedOf(stored)
    : stored.earlier?.find((published) => published.index === index)
}

/**
 * The correction to publish after a turn for the firmware that was checked before and had no newer version. Its
 * checking state was published and would otherwise stay for ever.
 */
export function checkedCorrection(
  before: StoredUpdate | undefined,
  index: number,
  now: number,
): PublishedUpdate | undefined {
  if (before?.state !== 'checking' || before.context.index === index) return undefined
  return { index: before.context.index, at: now, status: 'idle', message: 'NO_UPDATE' }
}

/** The published states of all firmwares except the one of the current update. */
export function earlierAfter(
  before: StoredUpdate | undefined,
  index: number,
  passed: PublishedUpdate | undefined,
): readonly PublishedUpdate[] | undefined {
  if (!before || before.context.index === index) return before?.earlier
  const last = passed ?? publishedOf(before)
  const others =
    before.earlier?.filter((published) => published.index !== index && published.index !== last.index) ?? []
  return [...others, last]
}

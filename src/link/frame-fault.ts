import type { FrameAbout } from '#link/link'
import { uint32Max } from '#model/identifier'

/** What a frame that can't be read says it is about, as far as that can be told: ERROR names it. Contract 7. */
export function aboutOf(frame: unknown): FrameAbout {
  if (typeof frame !== 'object' || frame === null) return {}
  const [flakeAddress, seq] = Array.isArray(frame)
    ? [frame[1], frame[2]]
    : [(frame as { flakeAddress?: unknown }).flakeAddress, (frame as { seq?: unknown }).seq]
  return {
    ...(isWithin(flakeAddress, uint32Max) ? { flakeAddress } : {}),
    ...(isWithin(seq, Number.MAX_SAFE_INTEGER) ? { seq } : {}),
  }
}

/** Nothing else is an address or a number of ours: an ERROR that names it would be no message of the protocol. */
function isWithin(said: unknown, max: number): said is number {
  return Number.isSafeInteger(said) && (said as number) >= 1 && (said as number) <= max
}

interface SchemaFault {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]
}

/** The first fault that a schema found, in a line. `path`: of what it looked at, in its message. */
export function messageOf({ issues: [issue] }: SchemaFault, ...path: readonly string[]): string {
  if (!issue) return 'not a message of this protocol'
  return `${[...path, ...issue.path].join('.') || 'message'}: ${issue.message}`
}

import { Problem } from '#model/problem'
import type { BlobPart } from '#runtime/blobs'

/** What all stores of large bytes refuse, and when. */

export const partAgeMsMax = 24 * 3_600_000
/** An image that has just come is not swept for so long. */
export const freshMsMax = 3_600_000
/** Taken in at once. */
const receivesMax = 64

/**
 * Whether a part may begin.
 * @throws Problem `conflict`, `too_large`, `overloaded`
 */
export function mayBegin(name: string, part: BlobPart, underWay: ReadonlySet<string>, bytesMax: number): void {
  if (underWay.has(name)) throw new Problem('conflict', 'this is being uploaded already')
  if (underWay.size >= receivesMax) throw new Problem('overloaded')
  if ((part.size ?? part.from) > bytesMax) throw tooLarge(bytesMax)
}

/** @throws Problem `conflict`, for people: it says where to go on */
export function mustGoOn(from: number, received: number): void {
  if (from !== 0 && from !== received) throw new Problem('conflict', `bytes from ${received} are expected`)
}

/** @throws Problem `too_large` when a piece would go beyond what was said, or what may be */
export function mayGrow(received: number, part: BlobPart, bytesMax: number): void {
  if (part.size !== null && received > part.size) throw new Problem('too_large', `more than ${part.size} bytes came`)
  if (received > bytesMax) throw tooLarge(bytesMax)
}

/** Whether what came is of use to nobody when it was broken off: only what is of a size that was said is gone on with. */
export function isInVain({ size }: BlobPart): boolean {
  return size === null
}

/** Whether what came is of use to nobody when its image was refused so: nobody ever owns it. */
export function isRefusedForGood(error: unknown, part: BlobPart): boolean {
  return isInVain(part) || (error instanceof Problem && !['storage', 'overloaded', 'bug'].includes(error.code))
}

/** Whether that is all: to be asked behind the last piece. */
export function isWhole(received: number, part: BlobPart): boolean {
  return part.size === null || received === part.size
}

function tooLarge(bytesMax: number): Problem {
  return new Problem('too_large', `more than ${bytesMax} bytes`)
}

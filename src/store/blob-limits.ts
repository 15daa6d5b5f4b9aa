import { Problem } from '#model/problem'
import type { BlobPart } from '#runtime/blobs'

/** An incomplete upload without progress for this time cannot be resumed, and is deleted. */
export const partAgeMsMax = 24 * 3_600_000
/** A new image is not swept for this time. */
export const freshMsMax = 3_600_000
/** The limit of uploads at the same time. */
const receivesMax = 64

/**
 * Checks whether an upload may begin.
 * @throws Problem `conflict`, `too_large`, `overloaded`
 */
export function checkBegin(name: string, part: BlobPart, underWay: ReadonlySet<string>, bytesMax: number): void {
  if (underWay.has(name)) throw new Problem('conflict', 'this image is already being uploaded')
  if (underWay.size >= receivesMax) throw new Problem('overloaded')
  if ((part.size ?? part.from) > bytesMax) throw tooLarge(bytesMax)
}

/** @throws Problem `conflict` with a message that gives the offset to continue from */
export function checkOffset(from: number, received: number): void {
  if (from !== 0 && from !== received) throw new Problem('conflict', `bytes from ${received} are expected`)
}

/** @throws Problem `too_large` if a piece exceeds the size that the client declared, or that of images */
export function checkGrowth(received: number, part: BlobPart, bytesMax: number): void {
  if (part.size !== null && received > part.size)
    throw new Problem('too_large', `more than ${part.size} bytes were sent`)
  if (received > bytesMax) throw tooLarge(bytesMax)
}

/** Whether an upload cannot be resumed after this part is interrupted: its size is unknown. */
export function isUnresumable({ size }: BlobPart): boolean {
  return size === null
}

/** Whether an upload is useless after this error: it can't be resumed, or its image will never have an owner. */
export function isRefusedForGood(error: unknown, part: BlobPart): boolean {
  return isUnresumable(part) || (error instanceof Problem && !['storage', 'overloaded', 'bug'].includes(error.code))
}

/** Whether the upload is complete. Call it after the last piece of the part. */
export function isWhole(received: number, part: BlobPart): boolean {
  return part.size === null || received === part.size
}

function tooLarge(bytesMax: number): Problem {
  return new Problem('too_large', `more than ${bytesMax} bytes`)
}

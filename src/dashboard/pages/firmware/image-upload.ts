import { Problem, pauseMs } from '#client/problem'

/**
 * Uploads the image of a release in parts, one after the other, each with a `Content-Range`. Continues after a broken
 * connection, a restart of the server or a reload of the page: the server keeps parts for a day. After a permanent
 * refusal it throws a `Problem`; after another failure it sends the part again. Contract 6, RFC 9110 §14.4.
 */

/** Small enough that slow connections send a part in the server's time limit, and large enough for few requests. */
export const partBytes = 512 * 1024

/** After this number of failures without progress, the upload ends. The pauses take about a minute in all. */
const failuresMax = 8

/** Pauses need no jitter, because few clients upload at the same time. */
const noJitter = () => 1

/** The server's answer to one part; `body` is parsed JSON. */
export interface PartAnswer {
  readonly status: number
  readonly body: unknown
}

export interface UploadEnvironment {
  /** Sends one part with this `Content-Range`. @throws any error if no answer arrived */
  send(contentRange: string, part: Blob): Promise<PartAnswer>
  wait(ms: number): Promise<void>
  /** Called with the number of bytes that the server has. */
  onReceived(bytes: number): void
  /** Called when a part has failed and will be sent again. */
  onPause(why: string): void
  readonly signal: AbortSignal
}

/** @throws Problem for a permanent refusal; the reason of the signal; the last of `failuresMax` failures */
export async function uploadImage(image: Blob, environment: UploadEnvironment): Promise<void> {
  const { signal, onReceived, onPause, wait } = environment
  /** The server's position. Undefined: unknown. */
  let from: number | undefined
  let furthest = -1
  let failures = 0
  // With the last byte, the release exists.
  while (from === undefined || from < image.size) {
    signal.throwIfAborted()
    try {
      from = await sendPart(image, from, environment)
    } catch (error) {
      signal.throwIfAborted()
      failures++
      if ((error instanceof Problem && !isTemporary(error)) || failures >= failuresMax) throw error
      onPause(error instanceof Error ? error.message : String(error))
      await wait(pauseMs(failures, noJitter))
      // Only the server knows how much of the part arrived.
      from = undefined
      continue
    }
    if (from > furthest) failures = 0
    furthest = Math.max(furthest, from)
    onReceived(from)
  }
}

/** Sends the next part, or asks for the position if it is unknown. Returns the number of bytes that the server has. */
async function sendPart(image: Blob, from: number | undefined, { send }: UploadEnvironment): Promise<number> {
  const { size } = image
  const to = from === undefined ? 0 : Math.min(from + partBytes, size)
  const range = from === undefined ? '*' : `${from}-${to - 1}`
  const { status, body } = await send(`bytes ${range}/${size}`, image.slice(from ?? 0, to))
  if (status === 200 || status === 201) return size
  if (status !== 202) throw new Problem(status, body)
  const { received } = body as { readonly received: number }
  if (from !== undefined && received <= from) throw new Error('The server received no more bytes')
  return received
}

function isTemporary({ status, message }: Problem): boolean {
  // The previous part may still arrive from a broken connection, or its answer was lost.
  const isAhead = status === 409 && /already being uploaded|are expected/.test(message)
  return isAhead || status === 408 || status === 429 || status >= 500
}

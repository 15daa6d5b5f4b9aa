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
  let from: number | undefined
  let furthest = -1
  let failures = 0
  for (;;) {
    environment.signal.throwIfAborted()
    const answer = await sendPart(image, from, environment)
    const step = answer instanceof Error ? { failed: answer } : stepOf(answer, from, image.size)
    if ('received' in step) {
      if (step.received > furthest) failures = 0
      furthest = Math.max(furthest, step.received)
      from = step.received
      environment.onReceived(from)
      // The server has the whole image: the release exists.
      if (from >= image.size) return
      continue
    }
    failures++
    if (failures >= failuresMax) throw step.failed
    environment.onPause(step.failed.message)
    await environment.wait(pauseMs(failures, noJitter))
    // Only the server knows how much of the part arrived.
    from = undefined
  }
}

/** Sends the next part, or asks for the position if it is unknown. */
async function sendPart(
  image: Blob,
  from: number | undefined,
  { send, signal }: Pick<UploadEnvironment, 'send' | 'signal'>,
): Promise<PartAnswer | Error> {
  try {
    if (from === undefined) return await send(`bytes */${image.size}`, image.slice(0, 0))
    const to = Math.min(from + partBytes, image.size)
    return await send(`bytes ${from}-${to - 1}/${image.size}`, image.slice(from, to))
  } catch (error) {
    signal.throwIfAborted()
    return error instanceof Error ? error : new Error(String(error))
  }
}

type Step =
  | { readonly received: number }
  /** Another attempt continues at the server's position. */
  | { readonly failed: Error }

/** @throws Problem */
function stepOf({ status, body }: PartAnswer, from: number | undefined, size: number): Step {
  switch (status) {
    case 200:
    case 201:
      return { received: size }
    case 202: {
      const { received } = body as { readonly received: number }
      if (from !== undefined && received <= from) return { failed: new Error('The server received no more bytes') }
      return { received }
    }
  }
  const problem = new Problem(status, body)
  // The previous part may still arrive from a broken connection, or its answer was lost.
  const isTemporary = status === 409 && /already being uploaded|are expected/.test(problem.message)
  if (isTemporary || status === 408 || status === 429 || status >= 500) return { failed: problem }
  throw problem
}

import { pauseMs } from '#client/problem'
import type { ReleaseEntry } from '#model/release'

/**
 * Brings the image of a release up in parts, each with its `Content-Range`, and goes on where it was when the connection
 * broke, the server was started again or the page was left: the server keeps parts for a day. Contract 6, RFC 9110 §14.4.
 *
 * One part is on its way at a time. What there is no way around is thrown as an `UploadRefused`; whatever else goes wrong
 * is tried again, so often in a row.
 */

/** Small enough to come within the server's patience on a slow line, large enough that hundreds of megabytes are few parts. */
export const partBytes = 512 * 1024

/** In a row without one more byte; with the pauses between them, about two minutes. */
const failuresMax = 8

/** No jitter: one upload disturbs no other. */
const alwaysWhole = () => 1

/** What the server said to one part; `body` as JSON. */
export interface PartAnswer {
  readonly status: number
  readonly body: unknown
}

/** The world, as far as an upload needs it. */
export interface UploadDoors {
  /** Sends one part under this `Content-Range`. @throws anything, where no answer came */
  send(contentRange: string, part: Blob): Promise<PartAnswer>
  wait(ms: number): Promise<void>
  /** So much of it is there, in bytes. */
  onReceived(bytes: number): void
  /** It did not get through, and is tried again. */
  onPause(why: string): void
  readonly signal: AbortSignal
}

/** The server will not have this image, however often it is sent. */
export class UploadRefused extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'UploadRefused'
    this.status = status
  }
}

/**
 * The release; undefined where it was there before a byte was sent.
 * @throws UploadRefused; the signal's reason; the last failure, after so many
 */
export async function uploadImage(image: Blob, doors: UploadDoors): Promise<ReleaseEntry | undefined> {
  let from: number | undefined
  /** Never so far before. */
  let best = -1
  let failures = 0
  for (;;) {
    doors.signal.throwIfAborted()
    const answer = await sent(image, from, doors)
    const step = answer instanceof Error ? { failed: answer } : stepOf(answer, from)
    if ('done' in step) {
      doors.onReceived(image.size)
      return step.done
    }
    if ('received' in step) {
      if (step.received > best) failures = 0
      best = Math.max(best, step.received)
      from = step.received
      doors.onReceived(from)
      // Asked, and found whole: there is a release already.
      if (from >= image.size) return undefined
      continue
    }
    failures++
    if (failures >= failuresMax) throw step.failed
    doors.onPause(step.failed.message)
    await doors.wait(pauseMs(failures, alwaysWhole))
    // How much arrived of what was on its way is for the server to say.
    from = undefined
  }
}

/** The part that comes next; where it is not known which one, the question how much there is. */
async function sent(
  image: Blob,
  from: number | undefined,
  { send, signal }: Pick<UploadDoors, 'send' | 'signal'>,
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
  | { readonly done: ReleaseEntry }
  | { readonly received: number }
  /** Once more, from wherever the server is. */
  | { readonly failed: Error }

/** @throws UploadRefused */
function stepOf({ status, body }: PartAnswer, from: number | undefined): Step {
  switch (status) {
    case 200:
    case 201:
      return { done: body as ReleaseEntry }
    case 202: {
      const { received } = body as { readonly received: number }
      if (from !== undefined && received <= from)
        return { failed: new Error('the server has no more of it than before') }
      return { received }
    }
  }
  const said = saidIn(body)
  // The part before may still be on its way out of a broken connection; or the answer to it was lost.
  const isPassing = status === 409 && /uploaded already|are expected/.test(said)
  if (isPassing || status === 408 || status === 429 || status >= 500)
    return { failed: new Error(said || `HTTP ${status}`) }
  throw new UploadRefused(status, said)
}

function saidIn(body: unknown): string {
  const { error, details } = (body ?? {}) as { error?: unknown; details?: readonly { path: string; message: string }[] }
  if (Array.isArray(details)) return details.map(({ path, message }) => `${path} ${message}`).join('; ')
  return typeof error === 'string' ? error : ''
}

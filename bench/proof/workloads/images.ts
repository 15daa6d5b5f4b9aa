import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Change,
  type Observed,
  observeEach,
  type SlotEntry,
  type Workload,
} from '#bench/proof/workloads/expected-state'
import type { ProofApi } from '#bench/proof/workloads/proof-api'
import { SeededRandom } from '#bench/random'

/** Images of releases: uploaded whole, or in parts (`Content-Range`). An acknowledged release is whole on the disk. */

const partsPath = '/updates/projects/parts/releases'
/** All images have this size, because a part of an image of another size would replace the stored parts. Contract 6. */
const imageBytes = 200_000
const partBytesMax = 90_000
/** One part in this many begins another image; one upload in this many is whole. */
const restartOneOf = 5
const wholeOneOf = 4

/** The uploaded first bytes of an image. With all bytes there is a release. */
interface Uploaded {
  readonly number: number
  readonly bytes: number
}

/**
 * An acknowledged part is stored, and the next part continues it. An unanswered part may be stored up to some byte: the
 * upload continues after the bytes that the server has. The image of a release is complete on the disk, with the bytes
 * that were sent.
 */
export function imagesWorkload(): Workload {
  return {
    name: 'images',
    slots: ['1.0.0', '1.0.1'].map((firmware) => `${partsPath}/${firmware}`),
    // Short, because an image has several parts.
    pauseMs: 40,
    nextChange: (path, before, number, random) => nextUpload(path, uploadedIn(before?.content), number, random),
    observe: (api, entries) => observeEach(entries, (path, entry) => observeUpload(api, path, entry)),
  }
}

function nextUpload(path: string, before: Uploaded | undefined, number: number, random: SeededRandom): Change {
  if (before?.bytes === imageBytes) return { method: 'DELETE', path, content: undefined }
  if (random.below(wholeOneOf) === 0) {
    const { headers: _, ...whole } = partOf(path, { number, bytes: imageBytes }, 0)
    return whole
  }
  // Shorter than the bytes that it replaces, so that the number of bytes shows which of the two images is there.
  if (before && before.bytes > 1 && random.below(restartOneOf) === 0)
    return partOf(path, { number, bytes: 1 + random.below(Math.min(before.bytes - 1, partBytesMax)) }, 0)
  const { bytes: from, ...image } = before ?? { number, bytes: 0 }
  return partOf(path, { ...image, bytes: Math.min(imageBytes, from + 1 + random.below(partBytesMax)) }, from)
}

function partOf(path: string, { number, bytes }: Uploaded, from: number) {
  return {
    method: 'PUT',
    path,
    headers: { 'content-range': `bytes ${from}-${bytes - 1}/${imageBytes}` },
    body: imageOf(number).subarray(from, bytes),
    content: textOf({ number, bytes }),
    // A repeat is refused, because the server expects another part after this one.
    isSentOnce: true,
  }
}

/** Sends the rest of an interrupted part. @throws when an image has other bytes than were sent */
async function observeUpload(api: ProofApi, path: string, entry: SlotEntry): Promise<Observed | undefined> {
  const { observed, pending } = entry
  const before = uploadedIn(observed?.content)
  const after = pending?.change.method === 'PUT' ? uploadedIn(pending.change.content) : undefined
  const bytes = await bytesThere(api, path, [before, after])
  if (!after || bytes === (before?.bytes ?? 0)) {
    // In a copy, completes the image, and compares it with the bytes that were sent.
    if (api.isCopy && before?.bytes === bytes && bytes < imageBytes) await complete(before)
    return observedOf(before, bytes)
  }
  if (bytes === after.bytes) return observedOf(after, bytes)
  const from = after.number === before?.number ? before.bytes : 0
  // After a refusal the server may keep no part of the image.
  const isPartOfIt = (bytes >= from || (bytes === 0 && pending?.isUnavailable)) && bytes < after.bytes
  if (!isPartOfIt) return observedOf(undefined, bytes)
  // A copy may contain any bytes where none were acknowledged.
  if (api.isCopy) return observed
  await send(after)
  return observedOf(after, await bytesThere(api, path, [after]))

  /** Sends the bytes that are missing. */
  async function send(image: Uploaded): Promise<void> {
    const { body, headers } = partOf(path, image, bytes)
    await api.must('PUT', path, { body, headers })
  }

  async function complete({ number }: Uploaded): Promise<void> {
    const whole = { number, bytes: imageBytes }
    await send(whole)
    await bytesThere(api, path, [whole])
  }
}

/** The number of stored bytes; `imageBytes`: a release with one of these images. @throws when it has another image */
async function bytesThere(api: ProofApi, path: string, images: readonly (Uploaded | undefined)[]): Promise<number> {
  const read = await api.ask('GET', path)
  if (read.status === 404) {
    const headers = { 'content-range': `bytes */${imageBytes}` }
    const { status, text } = await api.ask('PUT', path, { headers, body: new Uint8Array() })
    const { received } = JSON.parse(text) as { received?: number }
    if (received === imageBytes) throw new Error(`${path}: the image is complete, but there is no release`)
    if (status === 202 && received !== undefined) return received
    // The request completed the release: all bytes had arrived.
    if (status === 201) return bytesThere(api, path, images)
    throw new Error(`${path}: the number of bytes was answered ${status} ${text}`)
  }
  const { sha256 } = JSON.parse(read.text) as { sha256: string }
  const isOurs = images.some((each) => each && sha256 === sha256Of(imageOf(each.number)))
  if (!isOurs) throw new Error(`${path} is not the image that was sent in parts, but ${read.text}`)
  if (sha256Of(await readFile(join(api.dataFolder, 'images', sha256))) !== sha256)
    throw new Error(`the image of ${path} does not have the hash of its name`)
  return imageBytes
}

function textOf({ number, bytes }: Uploaded): string {
  return `image ${number}: ${bytes} bytes`
}

function uploadedIn(content: string | undefined): Uploaded | undefined {
  const [, number, bytes] = /^image (\d+): (\d+) bytes$/.exec(content ?? '') ?? []
  return number === undefined ? undefined : { number: Number(number), bytes: Number(bytes) }
}

function observedOf(image: Uploaded | undefined, bytes: number): Observed | undefined {
  if (bytes === 0) return undefined
  return { content: image ? textOf({ ...image, bytes }) : `${bytes} bytes of some image` }
}

/** A different image for each number. */
function imageOf(number: number): Buffer {
  const random = new SeededRandom(number)
  const bytes = Buffer.alloc(imageBytes)
  for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.writeUInt32LE(Math.floor(random.next() * 2 ** 32), at)
  return bytes
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

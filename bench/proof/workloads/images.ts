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

async function mustBeOnDisk({ dataFolder }: ProofApi, firmware: string, sha256: string): Promise<void> {
  const bytes = await readFile(join(dataFolder, 'images', sha256))
  if (sha256Of(bytes) !== sha256) throw new Error(`the image of ${firmware} does not have the hash of its name`)
}

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
  const uploads = new Map(['1.0.0', '1.0.1'].map((slot) => [slot, new Upload(slot)]))
  const uploadOf = (slot: string) => uploads.get(slot) as Upload
  return {
    name: 'images',
    slots: [...uploads.keys()],
    // Short, because an image has several parts.
    pauseMs: 40,
    nextChange: (slot, before, number, random) => uploadOf(slot).next(before, number, random),
    observe: (api, entries) => observeEach(entries, (slot, entry) => uploadOf(slot).observe(api, entry)),
  }
}

class Upload {
  readonly #path: string
  /** The number of bytes stored of an incomplete image, by the last answer. */
  #waiting = 0
  /** A part was answered 503 or 504: then the server may keep no part of that image. */
  #isRefused = false

  constructor(firmware: string) {
    this.#path = `${partsPath}/${firmware}`
  }

  next(observed: Observed | undefined, number: number, random: SeededRandom): Change {
    this.#isRefused = false
    const before = uploadedIn(observed?.content)
    if (before?.bytes === imageBytes)
      return { method: 'DELETE', path: this.#path, content: undefined, onAnswer: () => this.#keep(0) }
    if (random.below(wholeOneOf) === 0) {
      const { headers: _, ...whole } = this.#part({ number, bytes: imageBytes }, 0)
      return whole
    }
    // Shorter than the bytes that it replaces, so that the number of bytes shows which of the two images is there.
    if (before && before.bytes > 1 && random.below(restartOneOf) === 0)
      return this.#part({ number, bytes: 1 + random.below(Math.min(before.bytes - 1, partBytesMax)) }, 0)
    const { bytes: from, ...image } = before ?? { number, bytes: 0 }
    return this.#part({ ...image, bytes: Math.min(imageBytes, from + 1 + random.below(partBytesMax)) }, from)
  }

  /** Sends the rest of an interrupted part. @throws when an image has other bytes than were sent */
  async observe(api: ProofApi, { observed, pending }: SlotEntry): Promise<Observed | undefined> {
    const before = uploadedIn(observed?.content)
    const after = pending?.change.method === 'PUT' ? uploadedIn(String(pending.change.content)) : undefined
    const bytes = await this.#bytesThere(api, [before, after])
    // The database of a copied folder may be older than its images.
    if (api.isCopy && bytes < imageBytes && bytes === this.#waiting && before?.bytes !== imageBytes) return observed
    if (!api.isCopy) this.#keep(bytes)
    if (!after || bytes === (before?.bytes ?? 0)) return this.#unchanged(api, before, bytes)
    if (bytes === after.bytes) return observedOf(after, bytes)
    const from = after.number === before?.number ? before.bytes : 0
    const isPartOfIt = (bytes >= from || (bytes === 0 && this.#isRefused)) && bytes < after.bytes
    if (!isPartOfIt) return observedOf(undefined, bytes)
    // A copy may contain any bytes where none were acknowledged.
    if (api.isCopy) return observed
    await this.#continue(api, after, bytes)
    return observedOf(after, await this.#bytesThere(api, [after]))
  }

  /** In a copy, completes the image and compares it with the bytes that were sent. */
  async #unchanged(api: ProofApi, image: Uploaded | undefined, bytes: number): Promise<Observed | undefined> {
    if (api.isCopy && image?.bytes === bytes && bytes < imageBytes) {
      const whole = { ...image, bytes: imageBytes }
      await this.#continue(api, whole, bytes)
      await this.#bytesThere(api, [whole])
    }
    return observedOf(image, bytes)
  }

  async #continue(api: ProofApi, image: Uploaded, from: number): Promise<void> {
    const { body, headers } = this.#part(image, from)
    await api.must('PUT', this.#path, { body, headers })
  }

  #part({ number, bytes }: Uploaded, from: number) {
    return {
      method: 'PUT',
      path: this.#path,
      headers: { 'content-range': `bytes ${from}-${bytes - 1}/${imageBytes}` },
      body: imageOf(number).subarray(from, bytes),
      content: textOf({ number, bytes }),
      onAnswer: () => this.#keep(bytes),
      onUnavailable: () => {
        this.#isRefused = true
      },
      // A repeat is refused, because the server expects another part after this one.
      isSentOnce: true,
    }
  }

  #keep(bytes: number): void {
    this.#waiting = bytes === imageBytes ? 0 : bytes
  }

  /** The number of stored bytes; `imageBytes`: a release with one of these images. @throws when it has another image */
  async #bytesThere(api: ProofApi, images: readonly (Uploaded | undefined)[]): Promise<number> {
    const read = await api.ask('GET', this.#path)
    if (read.status === 404) {
      const headers = { 'content-range': `bytes */${imageBytes}` }
      const { status, text } = await api.ask('PUT', this.#path, { headers, body: new Uint8Array() })
      const { received } = JSON.parse(text) as { received?: number }
      if (received === imageBytes) throw new Error(`${this.#path}: the image is complete, but there is no release`)
      if (status === 202 && received !== undefined) return received
      // The request completed the release: all bytes had arrived.
      if (status === 201) return this.#bytesThere(api, images)
      throw new Error(`${this.#path}: the number of bytes was answered ${status} ${text}`)
    }
    const { sha256 } = JSON.parse(read.text) as { sha256: string }
    const isOurs = images.some((each) => each && sha256 === sha256Of(imageOf(each.number)))
    if (!isOurs) throw new Error(`${this.#path} is not the image that was sent in parts, but ${read.text}`)
    await mustBeOnDisk(api, this.#path, sha256)
    return imageBytes
  }
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

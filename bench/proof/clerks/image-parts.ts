import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { imageOf, sha256Of } from '#bench/proof/clerks/firmware-kinds'
import type { Found, LedgerEntry, LedgerKind, Wish } from '#bench/proof/clerks/ledger'
import { foundIn } from '#bench/proof/clerks/named'
import type { ProofApi } from '#bench/proof/clerks/proof-api'
import type { SeededRandom } from '#bench/random'

/** Images that are uploaded in parts (`Content-Range`), begun anew now and then, and deleted when they are whole. */

const path = '/updates/projects/parts/releases'
/** Of every image: what is begun anew takes the place of what was there. Contract 6: parts of another size are of another image. */
const imageBytes = 200_000
const partBytesMax = 90_000
/** Of images of which nothing but a beginning came. */
const anewOneOf = 5

/** So many bytes of an image; all of them: it is a release. */
interface Uploaded {
  /** Of the image. */
  readonly number: number
  readonly bytes: number
}

/**
 * A part that was answered is there, and is gone on with where it ends. Of one that was cut off a beginning may have come:
 * the rest of it follows from where the server says. What becomes a release is whole on the disk, and what was sent.
 */
export function imagePartsKind(): LedgerKind {
  const uploads = new Map(['1.0.0', '1.0.1'].map((slot) => [slot, new Upload(slot)]))
  const uploadOf = (slot: string) => uploads.get(slot) as Upload
  return {
    name: 'images in parts',
    slots: [...uploads.keys()],
    // An image takes some parts.
    pauseMs: 40,
    wish: (slot, before, number, random) => uploadOf(slot).wish(before, number, random),
    look: (api, entries) => foundIn(entries, (slot, entry) => uploadOf(slot).look(api, entry)),
  }
}

class Upload {
  readonly #path: string
  /** Bytes beside the database that are no release yet, as far as answers and looks have told. */
  #waiting = 0
  /** The disk refused a part: then nothing of its image is kept. */
  #isRefused = false

  constructor(firmware: string) {
    this.#path = `${path}/${firmware}`
  }

  wish(found: Found | undefined, number: number, random: SeededRandom): Wish {
    this.#isRefused = false
    const before = uploadedIn(found?.held)
    if (before?.bytes === imageBytes)
      return { method: 'DELETE', path: this.#path, held: undefined, heard: () => this.#keep(0) }
    // Shorter than what it takes the place of, so that the number of bytes says which of them is there.
    if (before && before.bytes > 1 && random.below(anewOneOf) === 0)
      return this.#part({ number, bytes: 1 + random.below(Math.min(before.bytes - 1, partBytesMax)) }, 0)
    const { bytes: from, ...image } = before ?? { number, bytes: 0 }
    return this.#part({ ...image, bytes: Math.min(imageBytes, from + 1 + random.below(partBytesMax)) }, from)
  }

  /** What the books are to say. A part that was cut off is brought to its end. @throws when an image is not what was sent */
  async look(api: ProofApi, { found, pending }: LedgerEntry): Promise<Found | undefined> {
    const before = uploadedIn(found?.held)
    const after = pending?.wish.method === 'PUT' ? uploadedIn(String(pending.wish.held)) : undefined
    const bytes = await this.#bytesThere(api, [before, after])
    // Of a folder whose database is older than what lies beside it: a log lost its end.
    if (api.isCopy && bytes < imageBytes && bytes === this.#waiting && before?.bytes !== imageBytes) return found
    if (!api.isCopy) this.#keep(bytes)
    if (!after || bytes === (before?.bytes ?? 0)) return this.#standing(api, before, bytes)
    if (bytes === after.bytes) return foundOf(after, bytes)
    const from = after.number === before?.number ? before.bytes : 0
    const isPartOfIt = (bytes >= from || (bytes === 0 && this.#isRefused)) && bytes < after.bytes
    if (!isPartOfIt) return foundOf(undefined, bytes)
    // In a copy nothing is said of the bytes that nobody acknowledged.
    if (api.isCopy) return found
    await this.#goOn(api, after, bytes)
    return foundOf(after, await this.#bytesThere(api, [after]))
  }

  /** In a copy nobody goes on with it later: it is brought to its end, and held against what was sent. */
  async #standing(api: ProofApi, image: Uploaded | undefined, bytes: number): Promise<Found | undefined> {
    if (api.isCopy && image?.bytes === bytes && bytes < imageBytes) {
      const whole = { ...image, bytes: imageBytes }
      await this.#goOn(api, whole, bytes)
      await this.#bytesThere(api, [whole])
    }
    return foundOf(image, bytes)
  }

  async #goOn(api: ProofApi, image: Uploaded, from: number): Promise<void> {
    const { body, headers } = this.#part(image, from)
    await api.must('PUT', this.#path, { body, headers })
  }

  #part({ number, bytes }: Uploaded, from: number) {
    return {
      method: 'PUT',
      path: this.#path,
      headers: { 'content-range': `bytes ${from}-${bytes - 1}/${imageBytes}` },
      body: imageOf(number, imageBytes).subarray(from, bytes),
      held: wordsOf({ number, bytes }),
      heard: () => this.#keep(bytes),
      refused: () => {
        this.#isRefused = true
      },
      // Where it ended something else is expected.
      isOnceOnly: true,
    }
  }

  #keep(bytes: number): void {
    this.#waiting = bytes === imageBytes ? 0 : bytes
  }

  /** All of them: it is a release, of one of these images. @throws when it is of another */
  async #bytesThere(api: ProofApi, images: readonly (Uploaded | undefined)[]): Promise<number> {
    const headers = { 'content-range': `bytes */${imageBytes}` }
    const read = await api.ask('GET', this.#path)
    if (read.status === 404) {
      const { status, text } = await api.ask('PUT', this.#path, { headers, body: new Uint8Array() })
      const { received } = JSON.parse(text) as { received?: number }
      if (received === imageBytes) throw new Error(`${this.#path}: all of it is there, and no release`)
      if (status === 202 && received !== undefined) return received
      // All had come, and nobody had made a release of it.
      if (status === 201) return this.#bytesThere(api, images)
      throw new Error(`${this.#path}: how much there is was answered ${status} ${text}`)
    }
    const { sha256 } = JSON.parse(read.text) as { sha256: string }
    const isOurs = images.some((each) => each && sha256 === sha256Of(imageOf(each.number, imageBytes)))
    if (!isOurs) throw new Error(`${this.#path} is not the image that was sent in parts, but ${read.text}`)
    const bytes = await readFile(join(api.dataFolder, 'images', sha256))
    if (sha256Of(bytes) !== sha256) throw new Error(`the image of ${this.#path} is not what it is named by`)
    return imageBytes
  }
}

function wordsOf({ number, bytes }: Uploaded): string {
  return `image ${number}: ${bytes} bytes`
}

function uploadedIn(held: string | undefined): Uploaded | undefined {
  const [, number, bytes] = /^image (\d+): (\d+) bytes$/.exec(held ?? '') ?? []
  return number === undefined ? undefined : { number: Number(number), bytes: Number(bytes) }
}

function foundOf(image: Uploaded | undefined, bytes: number): Found | undefined {
  if (bytes === 0) return undefined
  return { held: image ? wordsOf({ ...image, bytes }) : `${bytes} bytes of some image` }
}

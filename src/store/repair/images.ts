import { createHash } from 'node:crypto'
import { createReadStream, type Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { StoredRelease } from '#model/release'
import type { Row } from '#runtime/storage'
import { imageFolder } from '#store/backup/form'
import { addressOf, partNameOf } from '#store/keys'
import { unpack } from '#store/record-codec'

/** An image that no device would take, to be uploaded again. */
export interface ImageFault {
  readonly sha256: string
  /** Else a release names what is not there. */
  readonly isThere: boolean
  /** That name it: `<tenant>/<project>/<release>` each. */
  readonly releases: readonly string[]
}

/** Of the name of a record; see `actors/project/state.ts`. */
const releasePrefix = 'release/'

/** Which images the releases among the rows of a database name. */
export class NamedImages {
  readonly #releases = new Map<string, string[]>()

  look({ key, value }: Row): void {
    if (!key.startsWith('part/project/')) return
    const name = partNameOf(key)
    if (!name.startsWith(releasePrefix)) return
    const { tenant, id } = addressOf(key)
    const [, { sha256 }] = unpack(value) as [number, StoredRelease]
    const named = `${tenant}/${id}/${name.slice(releasePrefix.length)}`
    this.#releases.set(sha256, [...(this.#releases.get(sha256) ?? []), named])
  }

  /** Of them, and of those that nothing names: whose file is not there, or holds other bytes than it is named by. */
  async faultsIn(folder: string): Promise<readonly ImageFault[]> {
    const images = join(folder, imageFolder)
    const there = await entriesIn(images)
    const faults: ImageFault[] = []
    for (const sha256 of [...new Set([...there.keys(), ...this.#releases.keys()])].sort()) {
      const entry = there.get(sha256)
      if (entry && !entry.isDirectory() && (await hashOf(join(images, sha256))) === sha256) continue
      faults.push({ sha256, isThere: entry !== undefined, releases: this.#releases.get(sha256) ?? [] })
    }
    return faults
  }
}

/** Undefined: it can't be read. */
async function hashOf(file: string): Promise<string | undefined> {
  const hash = createHash('sha256')
  try {
    for await (const piece of createReadStream(file)) hash.update(piece as Buffer)
    return hash.digest('hex')
  } catch (error) {
    if (isUnreadable(error)) return undefined
    throw error
  }
}

async function entriesIn(folder: string): Promise<ReadonlyMap<string, Dirent>> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return new Map(entries.filter(({ name }) => /^[0-9a-f]{64}$/.test(name)).map((entry) => [entry.name, entry]))
  } catch (error) {
    if (isUnreadable(error)) return new Map()
    throw error
  }
}

/** It is not there, a link that leads nowhere, no folder, or the disk can't read it. */
function isUnreadable(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'EISDIR', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '')
}

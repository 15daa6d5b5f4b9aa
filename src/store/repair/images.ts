import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { imageFolder } from '#store/backup/form'
import { isMissing } from '#store/missing'

/** Images whose bytes are not those that they are named by: whoever downloads one would refuse it. */
export async function damagedImages(folder: string): Promise<readonly string[]> {
  const damaged: string[] = []
  for (const name of await namesIn(join(folder, imageFolder))) {
    const hash = createHash('sha256')
    for await (const piece of createReadStream(join(folder, imageFolder, name))) hash.update(piece as Buffer)
    if (hash.digest('hex') !== name) damaged.push(name)
  }
  return damaged
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => /^[0-9a-f]{64}$/.test(name)).sort()
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

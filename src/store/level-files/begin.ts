import { link, mkdir, mkdtemp, open, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { logOf } from '#store/level-files/log-file'
import { firstManifest } from '#store/level-files/manifest'
import { syncFolder } from '#store/sync-folder'

/** The folder that a beginning leaves that died on the way. */
export const draftPattern = /^first-\w{6}$/

/** Where files can't have two names. LevelDB begins the database itself there. */
const linkless = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK']

/**
 * Makes what LevelDB would make first in a folder without a database. It names its first manifest in CURRENT without having
 * synced it: behind a power loss there may be a CURRENT, and nothing in what it names.
 *
 * @param database the folder of LevelDB itself; nobody's, or that of another process that begins at the same time
 * @throws errors of the file system
 */
export async function beginDatabase(database: string): Promise<void> {
  await mkdir(database, { recursive: true, mode: 0o700 })
  if ((await readdir(database)).includes('CURRENT')) return
  const drafts = await mkdtemp(join(database, 'first-'))
  const draft = join(drafts, 'draft')
  const manifest = 'MANIFEST-000001'
  try {
    await writeSynced(draft, logOf(firstManifest()))
    await rename(draft, join(database, manifest))
    await writeSynced(draft, Buffer.from(`${manifest}\n`))
    // Not renamed: somebody else's may be there by now, and name a later manifest.
    await link(draft, join(database, 'CURRENT'))
    await syncFolder(database)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST' && !linkless.includes(code)) throw error
  } finally {
    await rm(drafts, { recursive: true, force: true })
  }
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
}

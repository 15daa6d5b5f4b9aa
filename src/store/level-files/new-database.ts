import { link, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '#store/file-system'
import { logOf } from '#store/level-files/log-file'
import { firstManifest } from '#store/level-files/manifest'

/** Matches the name of a folder that remains when the creation of a database was interrupted. */
export const draftPattern = /^first-\w{6}$/

/** Error codes of file systems without hard links. LevelDB creates the database itself there. */
const noLinkCodes = ['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK']

/** Options of `writeFile`: the promise is fulfilled when the content is synced. */
const synced = { mode: 0o600, flush: true }

/**
 * Creates the files that LevelDB would create first in a folder without a database. LevelDB names its first manifest in
 * CURRENT without a sync: after a power loss, CURRENT may name an empty manifest.
 *
 * @param database the folder of LevelDB itself; it has no database yet, or another process begins one at the same time
 * @throws errors of the file system
 */
export async function createDatabase(database: string): Promise<void> {
  await mkdir(database, { recursive: true, mode: 0o700 })
  if ((await readdir(database)).includes('CURRENT')) return
  const drafts = await mkdtemp(join(database, 'first-'))
  const draft = join(drafts, 'draft')
  const manifest = 'MANIFEST-000001'
  try {
    await writeFile(draft, logOf(firstManifest()), synced)
    await rename(draft, join(database, manifest))
    await writeFile(draft, `${manifest}\n`, synced)
    // A link and not a rename: another process may have created CURRENT by now, and it may name a later manifest.
    await link(draft, join(database, 'CURRENT'))
    await syncFolder(database)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST' && !noLinkCodes.includes(code)) throw error
  } finally {
    await rm(drafts, { recursive: true, force: true })
  }
}

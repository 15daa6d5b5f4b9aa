import { createHash } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { access, readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { adminCommand } from '#app/admin-command'
import type { Config } from '#app/config'
import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'
import { imageFolder } from '#store/backup/format'
import { isMissing } from '#store/file-system'
import { freeBytes } from '#store/headroom'
import { KeyFileDamaged, readKeyFile } from '#store/key-file'
import { damagedPrefix, repairingFolder, restoringFolder } from '#store/level'
import { checkDatabase } from '#store/level-files/database-check'

const mebibyte = 1024 * 1024

/** The free space, in addition to the headroom, that the server needs before it writes again. */
const spaceBytes = 64 * mebibyte

/** Checks permissions, the key file, and what restores and repairs have left. */
export async function folderFindings({
  dataDirectory: folder,
  isIamOn,
  natsUrls,
}: Config): Promise<readonly Finding[]> {
  const about = 'DATA_DIR'
  const names = await namesIn(folder)
  if (names === undefined) return [await creationFinding(folder)]
  if (typeof names === 'string')
    return [wrong(about, `${folder}: ${names}`, 'give the folder to the user that runs the server')]
  const findings: Finding[] = []
  if (names.includes(restoringFolder)) {
    const said = `${folder} contains a restore that is in progress or was interrupted`
    findings.push(wrong(about, said, 'if none is in progress, empty the folder and restore again'))
  }
  if (names.includes(repairingFolder)) {
    const said = `${folder} contains a repair that is in progress or was interrupted`
    findings.push(wrong(about, said, `if none is in progress, run it again: ${adminCommand} repair`))
  }
  for (const name of names.filter((each) => each.startsWith(damagedPrefix))) {
    const said = `the database was repaired; ${name} contains the damaged one`
    const todo =
      'check users, roles, API keys, sessions, devices and rules: rows may be missing, outdated, or present again after ' +
      `their deletion; then delete ${join(folder, name)}`
    findings.push(hint(about, said, todo))
  }
  const openAccess = await openAccessOf(folder)
  if (openAccess !== undefined) findings.push(hint(about, `${folder} ${openAccess}`, `chmod 700 ${folder}`))
  if (findings.length === 0) findings.push(ok(about, folder))
  return [...findings, await keyFinding(folder, names, { isIamOn, isNode: natsUrls.length > 0 })]
}

/** How others can access the folder or file; undefined if they can't. */
async function openAccessOf(path: string): Promise<string | undefined> {
  const mode = (await stat(path)).mode & 0o777
  if ((mode & 0o077) === 0) return undefined
  return `is accessible to other users of this machine (mode ${mode.toString(8)})`
}

/** Undefined if the folder does not exist. A string if it cannot be used. */
async function namesIn(folder: string): Promise<readonly string[] | string | undefined> {
  try {
    const names = await readdir(folder)
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK)
    return names
  } catch (error) {
    return isMissing(error) ? undefined : messageOf(error)
  }
}

async function creationFinding(folder: string): Promise<Finding> {
  const above = await nearestFolder(dirname(folder))
  try {
    await access(above, constants.W_OK | constants.X_OK)
    return ok('DATA_DIR', `${folder} does not exist yet; the first start creates it`)
  } catch (error) {
    const said = `${folder} does not exist and can't be created: ${messageOf(error)}`
    return wrong('DATA_DIR', said, 'create it for the user that runs the server')
  }
}

/** The folder itself, or the nearest existing folder above it. */
export async function nearestFolder(folder: string): Promise<string> {
  try {
    await stat(folder)
    return folder
  } catch (error) {
    return isMissing(error) && dirname(folder) !== folder ? nearestFolder(dirname(folder)) : folder
  }
}

async function keyFinding(
  folder: string,
  names: readonly string[],
  { isIamOn, isNode }: { readonly isIamOn: boolean; readonly isNode: boolean },
): Promise<Finding> {
  const about = 'identity.key'
  const file = join(folder, about)
  try {
    if ((await readKeyFile(folder)) === undefined) {
      if (isNode) {
        const todo = 'copy it from the data folder of another node; only the first node of a cluster creates it'
        return hint(about, 'does not exist', todo)
      }
      if (!names.includes('db') || !isIamOn)
        return ok(about, 'does not exist yet; the first start with IAM=on creates it')
      const todo = 'if accounts are stored, restore it from the backup of this folder'
      return hint(about, 'does not exist, although there is a database', todo)
    }
  } catch (error) {
    if (error instanceof KeyFileDamaged)
      return wrong(about, error.message, 'without it no account can be used; restore it from a backup')
    return wrong(about, messageOf(error), 'give the file to the user that runs the server')
  }
  const openAccess = await openAccessOf(file)
  if (openAccess === undefined) return ok(about, 'readable by its owner only')
  return wrong(about, `${openAccess}: anyone who reads it can forge sessions`, `chmod 600 ${file}`)
}

/** Checks that each firmware image has the SHA-256 in its name. Devices refuse other images. */
export async function imageFindings({ dataDirectory }: Config): Promise<readonly Finding[]> {
  const folder = join(dataDirectory, imageFolder)
  const names = await readdir(folder).catch(() => [])
  const findings: Finding[] = []
  for (const name of names.filter((each) => /^[0-9a-f]{64}$/.test(each))) {
    const hash = createHash('sha256')
    let said = 'does not match its SHA-256'
    try {
      await pipeline(createReadStream(join(folder, name)), hash)
      if (hash.digest('hex') === name) continue
    } catch (error) {
      // A running server deletes images that no release refers to.
      if (isMissing(error)) continue
      said = messageOf(error)
    }
    findings.push(wrong('images', `${name} ${said}`, 'upload the release again'))
  }
  return findings
}

/** File systems that deserve a warning, by their `statfs` type. */
const fileSystems: Readonly<Record<number, readonly [said: string, todo: string]>> = {
  16914836: ['DATA_DIR is in memory (tmpfs): a restart of the machine deletes it', 'put DATA_DIR on a disk'],
  2035054128: ['DATA_DIR is in the container itself, and is deleted with it', 'mount a volume at DATA_DIR'],
  26985: ['DATA_DIR is on NFS: locks and fsync may be unreliable', 'put DATA_DIR on a disk of this machine'],
}

export async function diskFindings(config: Config): Promise<readonly Finding[]> {
  const folder = await nearestFolder(config.dataDirectory)
  const warning = fileSystems[(await statfs(folder)).type]
  return [spaceFinding(config, await freeBytes(folder)), ...(warning ? [hint('disk', ...warning)] : [])]
}

function spaceFinding({ storageHeadroomBytes, streamRetentionBytes }: Config, free: number): Finding {
  const size = `${Math.floor(free / mebibyte)} MiB free`
  const bytesMin = storageHeadroomBytes + spaceBytes
  const todo = 'free some disk space, or set STREAM_RETENTION_MB to less'
  if (free < bytesMin) {
    const least = `${Math.ceil(bytesMin / mebibyte)} MiB`
    return wrong('disk', `${size}: below ${least} the server does not resume writes after the disk was full`, todo)
  }
  if (free >= streamRetentionBytes + bytesMin) return ok('disk', size)
  return hint('disk', `${size}: the stream alone may grow to ${Math.ceil(streamRetentionBytes / mebibyte)} MiB`, todo)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** A running server changes the files during a check. Only real damage is found each time. */
const attemptsMax = 3

/** Checks every block of every database file. No findings if there is no database yet. */
export function databaseFindings({ dataDirectory, natsUrls }: Config): Promise<readonly Finding[]> {
  const todo = natsUrls.length > 0 ? renewAdvice(dataDirectory) : repairAdvice
  return findingsOf('database', dataDirectory, (said) => wrong('database', said, todo))
}

/** Checks the database of the history, whose damage never stops the server. */
export function historyFindings({ dataDirectory }: Config): Promise<readonly Finding[]> {
  const todo = 'nothing to do: the server sets it aside when it finds the damage, and begins a new history'
  return findingsOf('history', join(dataDirectory, 'history'), (said) => hint('history', said, todo))
}

async function findingsOf(
  about: string,
  folder: string,
  damaged: (said: string) => Finding,
): Promise<readonly Finding[]> {
  const database = join(folder, 'db')
  try {
    if (!(await stat(database).catch(() => undefined))) return []
    let found = await checkDatabase(database, 'whole')
    for (let attempts = 1; found.damage.length > 0 && attempts < attemptsMax; attempts++)
      found = await checkDatabase(database, 'whole')
    if (found.damage.length > 0) return found.damage.map(damaged)
    if (found.torn.length === 0) return [ok(about, 'all blocks of its files are intact')]
    const todo = 'nothing to do; with DURABILITY=disk no acknowledged data is lost, unless the disk is damaged'
    return found.torn.map((said) => hint(about, `${said}, as after a crash of the server or the machine`, todo))
  } catch (error) {
    return [wrong(about, `cannot be read: ${messageOf(error)}`, 'give the folder to the user that runs the server')]
  }
}

const repairAdvice = `restore a backup, or repair what can be read: ${adminCommand} repair`

/** Why a node is not repaired: its repaired database would lack commits that all other nodes have. */
export function renewAdvice(folder: string): string {
  return `stop this node, remove everything in ${folder} except identity.key, and start it: it gets its data from the cluster`
}

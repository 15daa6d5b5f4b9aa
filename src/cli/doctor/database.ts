import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { adminCommand } from '#app/admin-command'
import type { Config } from '#app/config'
import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'
import { messageOf } from '#cli/doctor/folder'
import { checkDatabase, type DatabaseCheck } from '#store/level-files/database-check'

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
    return findingsIn(about, found, damaged)
  } catch (error) {
    return [wrong(about, `cannot be read: ${messageOf(error)}`, 'give the folder to the user that runs the server')]
  }
}

const repairAdvice = `restore a backup, or repair what can be read: ${adminCommand} repair`

/** Why a node is not repaired: its repaired database would lack commits that all other nodes have. */
export function renewAdvice(folder: string): string {
  return `stop this node, remove everything in ${folder} except identity.key, and start it: it gets its data from the cluster`
}

function findingsIn(
  about: string,
  { damage, torn }: DatabaseCheck,
  damaged: (said: string) => Finding,
): readonly Finding[] {
  if (damage.length > 0) return damage.map(damaged)
  if (torn.length === 0) return [ok(about, 'all blocks of its files are intact')]
  return torn.map((said) =>
    hint(
      about,
      `${said}, as after a crash of the server or the machine`,
      'nothing to do; with DURABILITY=disk no acknowledged data is lost, unless the disk is damaged',
    ),
  )
}

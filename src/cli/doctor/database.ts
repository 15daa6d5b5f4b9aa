import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '#app/config'
import { type Finding, hint, ok, wrong } from '#cli/doctor/finding'
import { wordsOf } from '#cli/doctor/folder'
import { checkDatabase, type DatabaseCheck } from '#store/level-files/database-check'

/** A server that has the folder changes what is looked at; what is damaged stays so. */
const looksMax = 3

/** Whether every block of every file of the database is as it was written. Nothing is when there is none yet. */
export async function databaseFindings({ dataDirectory }: Config): Promise<readonly Finding[]> {
  const about = 'database'
  const database = join(dataDirectory, 'db')
  try {
    if (!(await stat(database).catch(() => undefined))) return []
    let found = await checkDatabase(database, 'whole')
    for (let looks = 1; found.damage.length > 0 && looks < looksMax; looks++)
      found = await checkDatabase(database, 'whole')
    return findingsOf(about, found)
  } catch (error) {
    return [wrong(about, `could not be read: ${wordsOf(error)}`, 'give the folder to the user that runs the server')]
  }
}

function findingsOf(about: string, { damage, torn }: DatabaseCheck): readonly Finding[] {
  const todo = 'restore a backup, or save what can be saved: npm run admin -- repair'
  if (damage.length > 0) return damage.map((said) => wrong(about, said, todo))
  if (torn.length === 0) return [ok(about, 'every block of its files is whole')]
  return torn.map((said) =>
    hint(
      about,
      `${said}, as a server leaves it that was killed, or whose machine went down`,
      'nothing; with DURABILITY=disk nothing that was acknowledged is among it, unless the disk is damaged',
    ),
  )
}

import type { Command } from 'commander'
import type { Terminal } from '#cli/command'
import type { Wanted } from '#cli/connecting'
import type { Printer } from '#cli/printer'

/** What a verb about the data as a whole works with. */
export interface FolderWork {
  readonly terminal: Terminal
  readonly printer: Printer
  readonly wanted: Omit<Wanted, 'notes'>
  /** Its own, as typed. */
  readonly options: Readonly<Record<string, unknown>>
}

export type FolderActing = <A extends readonly unknown[]>(
  verb: (work: FolderWork, ...given: A) => Promise<void>,
) => (...given: unknown[]) => Promise<void>

const aboutSecrets = `
A backup is one moment of everything, with identity.key, all password hashes and second factors: whoever reads it can be
anybody. It is written for its owner only (0600) and is not encrypted; with - for FILE it goes through a pipe:
  npm run -s admin -- backup - | age -r age1… > today.backup.age
`

const aboutRepair = `
Repairs a copy of the database, without the blocks and the ends of logs that are damaged. The damaged database is kept,
unchanged. Records may be missing, may be earlier versions of themselves, or may be there again after their deletion: check
users, roles, API keys and sessions; npm run doctor repeats what to check. All clients read the full state. A backup may be the
better choice: it is one whole moment.
`

/** With the database, which takes longer to load than all the rest: only for who works on it. */
const verbs = () => import('#cli/folder-verbs')

export function addFolderCommands(program: Command, act: FolderActing): void {
  program
    .command('backup <file>')
    .description('everything that the server has stored, in one file; the server goes on meanwhile')
    .addHelpText('after', aboutSecrets)
    .action(act(async (work: FolderWork, file: string) => (await verbs()).backup(work, file)))
  program
    .command('restore <file>')
    .description('bring a backup back into DATA_DIR, which must be empty; the server must not run')
    .action(act(async (work: FolderWork, file: string) => (await verbs()).restore(work, file)))
  program
    .command('inspect [file]')
    .description('what lies in a backup, or in DATA_DIR, which is not changed')
    .action(act(async (work: FolderWork, file?: string) => (await verbs()).inspect(work, file)))
  program
    .command('repair')
    .description('make a new database from what can be read in a damaged DATA_DIR; the server must not run')
    .option('--force', 'also where nothing seems wrong')
    .addHelpText('after', aboutRepair)
    .action(act(async (work: FolderWork) => (await verbs()).repair(work)))
}

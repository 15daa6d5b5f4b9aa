import type { Command } from 'commander'
import type { CommandAction } from '#cli/command-context'
import type { Printer, Terminal } from '#cli/printer'
import type { ConnectTarget } from '#cli/server-lookup'

/** The input of commands for the whole data folder. */
export interface FolderContext {
  readonly terminal: Terminal
  readonly printer: Printer
  readonly target: Omit<ConnectTarget, 'notes'>
  /** The options of the command. */
  readonly options: Readonly<Record<string, unknown>>
}

const aboutSecrets = `
A backup is a consistent copy of all data, with identity.key, password hashes and second factors: anyone who reads it can
act as any user. It is readable by its owner only (0600) and not encrypted. With - as FILE it is written to a pipe:
  npm run -s admin -- backup - | age -r age1… > today.backup.age
`

const aboutRepair = `
Repairs a copy of the database, without damaged blocks and damaged ends of logs. The damaged database is kept unchanged.
Records may be missing, outdated, or present again after their deletion: check users, roles, API keys and sessions; npm run
doctor repeats what to check. All clients read the full state. A backup may be the better choice, because it is consistent.
`

/** Loads the database code only for commands that need it, because it is slow. */
const folderActions = () => import('#cli/folder-actions')

export function addFolderCommands(program: Command, act: CommandAction<FolderContext>): void {
  program
    .command('backup <file>')
    .description('write all stored data to one file; the server continues to work')
    .option('--no-history', 'without the history, which may be most of the data')
    .addHelpText('after', aboutSecrets)
    .action(act(async (context: FolderContext, file: string) => (await folderActions()).backup(context, file)))
  program
    .command('restore <file>')
    .description('restore a backup into DATA_DIR, which must be empty; the server must be stopped')
    .action(act(async (context: FolderContext, file: string) => (await folderActions()).restore(context, file)))
  program
    .command('inspect [file]')
    .description('show the content of a backup or of DATA_DIR, without changes')
    .action(act(async (context: FolderContext, file?: string) => (await folderActions()).inspect(context, file)))
  program
    .command('repair')
    .description('create a new database from the readable parts of a damaged DATA_DIR; the server must be stopped')
    .option('--force', 'repair even if no damage was found')
    .addHelpText('after', aboutRepair)
    .action(act(async (context: FolderContext) => (await folderActions()).repair(context)))
}

import { Command, CommanderError } from 'commander'
import { connect } from '#cli/connecting'
import { exitCodes, Misuse } from '#cli/ending'
import { addFolderCommands, type FolderActing, type FolderWork } from '#cli/folder'
import { addKeyCommands } from '#cli/keys'
import type { Leftovers } from '#cli/leftovers'
import { askPassword } from '#cli/password'
import { Printer, type Streams } from '#cli/printer'
import { failureText } from '#cli/refused'
import { addRoleCommands } from '#cli/roles'
import type { Credentials } from '#cli/running-server'
import { addSessionCommands } from '#cli/sessions'
import type { Settings } from '#cli/settings'
import { addTenantCommands } from '#cli/tenants'
import { addUserCommands } from '#cli/users'
import type { Acting, Work } from '#cli/work'

export interface Terminal extends Streams {
  readonly input: Parameters<typeof askPassword>[1]['input']
  readonly out: Streams['out'] & { readonly isTTY?: boolean }
  /** Taken away also by a signal. */
  readonly leftovers: Leftovers
}

interface GlobalOptions {
  readonly url?: string
  readonly user?: string
  readonly json?: boolean
  readonly tenant?: string
}

/** Who is there first. Contract 2, First administrator. */
const nameByDefault = 'admin'

const helpColumns = 100

const about = `
Which server: the one that answers at --url, or else at HOST and PORT, if it works on DATA_DIR. Where none listens
there, the work is done on that data folder of the stopped server, without signing in.

Signing in: with the key in ADMIN_API_KEY; or as --user (or ADMIN_NAME, or admin) with the password in
ADMIN_PASSWORD, or one that is asked for. All settings are also read from .env in the working directory.

Codes and keys stand alone on standard output; with npm run -s nothing else does.
Exit codes: ${exitCodes.done} done, ${exitCodes.refused} refused, ${exitCodes.misused} not understood.

Examples:
  npm run admin -- user add ann --role operator
  npm run admin -- user invite admin
  npm run admin -- role put dashboard --file dashboard.json
  npm run -s admin -- key add api reporting --role viewer > reporting.key
  npm run admin -- session end ann
  npm run admin -- backup /backups/today.backup
`

/** Does what was typed; answers the exit code. */
export async function administer(args: readonly string[], settings: Settings, terminal: Terminal): Promise<number> {
  try {
    await commandFor(settings, terminal).parseAsync(args, { from: 'user' })
    return exitCodes.done
  } catch (error) {
    // It has said already what it has to say: help, or what is wrong with the line.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.misused
    terminal.notes.write(`error: ${failureText(error)}\n`)
    return error instanceof Misuse ? exitCodes.misused : exitCodes.refused
  }
}

function commandFor(settings: Settings, terminal: Terminal): Command {
  const program = new Command('npm run admin --')
  program
    .description('Administers users, roles, tenants, keys and sessions, through the API; backs up and restores.')
    .option('--url <url>', 'where the server answers, such as https://devices.example.com')
    .option('--user <name>', 'who signs in')
    .option('--json', 'what the server answers, for programs')
    .addHelpText('after', about)
    .showHelpAfterError('(--help says more)')
    .configureHelp({ showGlobalOptions: true, helpWidth: helpColumns })
    .configureOutput({
      writeOut: (text) => terminal.out.write(text),
      writeErr: (text) => terminal.notes.write(text),
    })
    .exitOverride()
  const act = actingBy(settings, terminal)
  addUserCommands(program, act)
  addRoleCommands(program, act)
  addKeyCommands(program, act)
  addSessionCommands(program, act)
  addTenantCommands(program, act)
  addFolderCommands(program, folderActingBy(settings, terminal))
  return program
}

function actingBy(settings: Settings, terminal: Terminal): Acting {
  return <A extends readonly unknown[]>(verb: (work: Work, ...given: A) => Promise<void>) =>
    async (...given: unknown[]) => {
      // Behind the arguments and the options commander hands over the command itself.
      const command = given.at(-1) as Command
      const { url, user, json = false, tenant }: GlobalOptions = command.optsWithGlobals()
      // In a path they would lead to another one. RFC 3986 §5.2.4
      const odd = given.find((name) => typeof name === 'string' && /^\.{0,2}$/.test(name))
      if (odd !== undefined) throw new Misuse(`'${odd}' names nothing`)
      const credentials = credentialsOf(settings, terminal, user)
      const connection = await connect({ url, reading: settings.reading, credentials, notes: terminal.notes })
      try {
        const { client } = connection
        const query = tenant === undefined ? {} : { tenant }
        const printer = new Printer(terminal, json)
        await verb({ client, query, printer }, ...(given.slice(0, -1) as unknown as A))
      } finally {
        await connection.close()
      }
    }
}

function folderActingBy(settings: Settings, terminal: Terminal): FolderActing {
  return <A extends readonly unknown[]>(verb: (work: FolderWork, ...given: A) => Promise<void>) =>
    async (...given: unknown[]) => {
      const command = given.at(-1) as Command
      const { url, user, json = false }: GlobalOptions = command.optsWithGlobals()
      const work = {
        terminal,
        printer: new Printer(terminal, json),
        wanted: { url, reading: settings.reading, credentials: credentialsOf(settings, terminal, user) },
        options: command.opts(),
      }
      await verb(work, ...(given.slice(0, -2) as unknown as A))
    }
}

/** Whoever says who he is, means himself and not a key. */
function credentialsOf(
  { apiKey, name, password }: Settings,
  terminal: Terminal,
  user: string | undefined,
): Credentials {
  if (apiKey !== undefined && user === undefined) return { apiKey }
  const who = user ?? name ?? nameByDefault
  return {
    name: who,
    password: async (place) => password ?? askPassword(`Password of ${who} at ${place}: `, terminal),
  }
}

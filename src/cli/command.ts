import { Command, CommanderError } from 'commander'
import { adminCommand } from '#app/admin-command'
import { addAuditCommand } from '#cli/audit'
import { addClusterCommands } from '#cli/cluster'
import type { CommandAction, CommandContext } from '#cli/command-context'
import type { Credentials } from '#cli/connection'
import { NoAnswer } from '#cli/exchange'
import { exitCodes, Misuse, Refusal } from '#cli/exit-codes'
import { addFolderCommands, type FolderContext } from '#cli/folder'
import { addHistoryCommands } from '#cli/history'
import { addImportCommands } from '#cli/import-thingsboard'
import { addKeyCommands } from '#cli/keys'
import { askPassword } from '#cli/password'
import { Printer, type Terminal } from '#cli/printer'
import { addRoleCommands } from '#cli/roles'
import { connect } from '#cli/server-lookup'
import { addSessionCommands } from '#cli/sessions'
import type { Settings } from '#cli/settings'
import { addTenantCommands } from '#cli/tenants'
import { addUserCommands } from '#cli/users'
import { ConnectionLost, Problem } from '#client/client'

interface GlobalOptions {
  readonly url?: string
  readonly user?: string
  readonly json?: boolean
  readonly tenant?: string
}

/** The first administrator. Contract 2, First administrator. */
const defaultName = 'admin'

const helpColumns = 100

const about = `
Server: the one at --url; without it, the one at HOST and PORT, if it uses DATA_DIR. If no server listens there, the
command works on the data folder of the stopped server, without a sign-in.

Sign-in: with the key in ADMIN_API_KEY; or as --user (or ADMIN_NAME, or admin) with the password in ADMIN_PASSWORD or
a typed one. All settings are also read from .env in the working directory.

Codes and keys are printed alone on standard output; use npm run -s to suppress the lines of npm.
Exit codes: ${exitCodes.done} done, ${exitCodes.refused} refused, ${exitCodes.misused} wrong usage.

Examples:
  ${adminCommand} user add ann --role operator
  ${adminCommand} user invite admin
  ${adminCommand} role put dashboard --file dashboard.json
  npm run -s admin -- key add api reporting --role viewer > reporting.key
  ${adminCommand} session end ann
  npm run -s admin -- history export --device SENSOR-1 --service climate --from -7d > week.csv
  ${adminCommand} backup /backups/today.backup
`

/** Runs the command line. Returns the exit code. */
export async function runCommandLine(args: readonly string[], settings: Settings, terminal: Terminal): Promise<number> {
  try {
    await commandFor(settings, terminal).parseAsync(args, { from: 'user' })
    return exitCodes.done
  } catch (error) {
    // Commander has already written the help or the error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.misused
    terminal.notes.write(`error: ${failureText(error)}\n`)
    return error instanceof Misuse ? exitCodes.misused : exitCodes.refused
  }
}

function commandFor(settings: Settings, terminal: Terminal): Command {
  const program = new Command(adminCommand)
  program
    .description(
      'Manages users, roles, tenants, keys and sessions, and lists the audit; exports history; backs up and restores.',
    )
    .option('--url <url>', 'address of the server, such as https://devices.example.com')
    .option('--user <name>', 'name of the user that signs in')
    .option('--json', 'print the answers of the server, for programs')
    .addHelpText('after', about)
    .showHelpAfterError('(see --help)')
    .configureHelp({ showGlobalOptions: true, helpWidth: helpColumns })
    .configureOutput({
      writeOut: (text) => terminal.out.write(text),
      writeErr: (text) => terminal.notes.write(text),
    })
    .exitOverride()
  const act = actionFor(settings, terminal)
  addUserCommands(program, act)
  addRoleCommands(program, act)
  addKeyCommands(program, act)
  addSessionCommands(program, act)
  addTenantCommands(program, act)
  addAuditCommand(program, act)
  addClusterCommands(program, act)
  addHistoryCommands(program, act)
  addImportCommands(program, act)
  addFolderCommands(program, folderActionFor(settings, terminal))
  return program
}

function actionFor(settings: Settings, terminal: Terminal): CommandAction {
  return <A extends readonly unknown[]>(run: (context: CommandContext, ...args: A) => Promise<void>) =>
    async (...args: unknown[]) => {
      // Commander passes the command as the last argument.
      const command = args.at(-1) as Command
      const { url, user, json = false, tenant }: GlobalOptions = command.optsWithGlobals()
      // In a path, such names would change the address. RFC 3986 §5.2.4
      const invalid = args.find((name) => typeof name === 'string' && /^\.{0,2}$/.test(name))
      if (invalid !== undefined) throw new Misuse(`'${invalid}' is not a valid name`)
      const credentials = credentialsOf(settings, terminal, user)
      const connection = await connect({ url, reading: settings.reading, credentials, notes: terminal.notes })
      try {
        const query = tenant === undefined ? {} : { tenant }
        const printer = new Printer(terminal, json)
        await run({ ...connection, query, printer }, ...(args.slice(0, -1) as unknown as A))
      } finally {
        await connection.close()
      }
    }
}

function folderActionFor(settings: Settings, terminal: Terminal): CommandAction<FolderContext> {
  return <A extends readonly unknown[]>(run: (context: FolderContext, ...args: A) => Promise<void>) =>
    async (...args: unknown[]) => {
      const command = args.at(-1) as Command
      const { url, user, json = false }: GlobalOptions = command.optsWithGlobals()
      const context = {
        terminal,
        printer: new Printer(terminal, json),
        target: { url, reading: settings.reading, credentials: credentialsOf(settings, terminal, user) },
        options: command.opts(),
      }
      await run(context, ...(args.slice(0, -2) as unknown as A))
    }
}

/** With `--user`, the user signs in, even if there is an API key. */
function credentialsOf(
  { apiKey, name, password }: Settings,
  terminal: Terminal,
  user: string | undefined,
): Credentials {
  if (apiKey !== undefined && user === undefined) return { apiKey }
  const userName = user ?? name ?? defaultName
  return {
    name: userName,
    password: async (place) => password ?? askPassword(`Password of ${userName} at ${place}: `, terminal),
  }
}

/** Texts for answers without a body. */
const statusTexts: Readonly<Record<number, string>> = {
  403: 'the caller has no permission for this',
  404: 'it does not exist, or the caller may not see it',
}

const workaround =
  'Create an API key (key add api) and set ADMIN_API_KEY, or stop the server and run the command ' +
  'again: it then works on the data folder, without a sign-in.'

/** Advice by the error of the server. */
const advice: Readonly<Record<string, string>> = {
  'use the DPoP scheme': `A password is not sufficient: the tenant does not permit the Basic scheme.\n${workaround}`,
  '2fa_required': `A password is not sufficient: a second factor is needed.\n${workaround}`,
  'invalid credentials':
    'Unknown name, wrong password, a disabled account, or a tenant with other sign-in hosts (--url).',
}

/** The text for a failed command. Only bugs of this program have a stack. */
function failureText(error: unknown): string {
  if (error instanceof Problem) return problemText(error)
  if (error instanceof NoAnswer) return `${error.place}: ${error.message}`
  if (error instanceof ConnectionLost) {
    const { message } = new NoAnswer('', error)
    return error.message.endsWith(message) ? error.message : `${error.message}: ${message}`
  }
  if (error instanceof Refusal || error instanceof Misuse) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** The error of the server, the invalid fields of the request, and advice. */
function problemText({ status, body, details = [], retryAfterSeconds }: Problem): string {
  const { error, message } = Object(body) as { readonly error?: unknown; readonly message?: unknown }
  const reason = error ?? message ?? statusTexts[status]
  const lines = [
    `${status}${reason === undefined ? '' : ` ${reason}`}`,
    ...details.map(({ path, message }) => `  ${path}: ${message}`),
    ...(retryAfterSeconds === undefined ? [] : [`Try again in ${retryAfterSeconds} s.`]),
    ...(Object.hasOwn(advice, String(error)) ? [advice[String(error)]] : []),
  ]
  return lines.join('\n')
}

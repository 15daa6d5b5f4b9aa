import type { Command } from 'commander'
import {
  addTenantOption,
  type CommandAction,
  type CommandContext,
  collectValues,
  wholeNumber,
} from '#cli/command-context'
import { timeText } from '#cli/printer'
import type { Answer, Body } from '#client/client'

const columns = [
  ['NAME', 'name'],
  ['STATE', 'state'],
  ['ROLES', 'roles'],
  ['EMAIL', 'email'],
  ['2FA', 'twoFactor'],
  ['CREATED', 'createdAt'],
] as const

interface UserOptions {
  /** False: removes the address. */
  readonly email?: string | false
  readonly role?: readonly string[]
}

export function addUserCommands(program: Command, act: CommandAction): void {
  const user = addTenantOption(program.command('user').description('manage users'))
  user.command('list').description('list all users by name').action(act(list))
  user
    .command('add <name>')
    .description('invite a user, and print the code for the sign-up')
    .option('--email <address>', 'mail address, which also signs in')
    .option('--role <role>', 'role of the user; repeatable', collectValues)
    .option('--expires <seconds>', 'lifetime of the code (default: 7 days)', wholeNumber)
    .action(act(add))
  user
    .command('invite <name>')
    .description(
      'print a new code for a user, such as for a lost password; the password is valid until the code is used',
    )
    .option('--reset-two-factor', 'the code also removes the second factors')
    .action(act(invite))
  user
    .command('set <name>')
    .description('change the address or the roles of a user')
    .option('--email <address>')
    .option('--no-email', 'remove the address')
    .option('--role <role>', 'replace all roles; repeatable', collectValues)
    .option('--no-role', 'remove all roles')
    .action(act(change))
  user.command('disable <name>').description('refuse sign-in of a user; ends all sessions').action(act(disable))
  user.command('enable <name>').description('permit sign-in again').action(act(enable))
  user.command('delete <name>').description('delete a user; ends all sessions').action(act(remove))
}

async function list({ client, query, printer }: CommandContext): Promise<void> {
  printer.list(columns, await client.call('GET /iam/users', { query }))
}

async function add(
  context: CommandContext,
  name: string,
  { email, role = [], expires }: { email?: string; role?: readonly string[]; expires?: number },
): Promise<void> {
  const body = { name, email, roles: [...role], expiresIn: expires }
  printInvitation(context, await context.client.call('POST /iam/users', { query: context.query, body }))
}

async function invite(context: CommandContext, name: string, options: { resetTwoFactor?: boolean }): Promise<void> {
  const { query } = context
  const body = { resetTwoFactor: options.resetTwoFactor }
  printInvitation(
    context,
    await context.client.call('POST /iam/users/:name/code', { parameters: { name }, query, body }),
  )
}

function printInvitation({ printer }: CommandContext, invitation: Answer<'POST /iam/users'>): void {
  const { name, code, expiresAt, mailed } = invitation
  const until = timeText(expiresAt)
  const mail =
    mailed === undefined ? '' : mailed ? ' A link was mailed too.' : ' The mail with a link was not accepted.'
  printer.secret(
    invitation,
    code,
    `With this code, ${name} can set a password until ${until}: POST /api/v1/iam/signup {"name","code","password"}.${mail}`,
  )
}

async function change(
  context: CommandContext,
  name: string,
  { email, role }: UserOptions & { role?: readonly string[] | false },
): Promise<void> {
  const roles = role === false ? [] : role?.slice()
  await patch(context, name, { email: email === false ? null : email, roles }, 'is changed')
}

async function disable(context: CommandContext, name: string): Promise<void> {
  await patch(context, name, { state: 'disabled' }, 'is disabled; all sessions have ended')
}

async function enable(context: CommandContext, name: string): Promise<void> {
  await patch(context, name, { state: 'active' }, 'is enabled')
}

/** The answer has no name if the caller may update users but not read them. */
async function patch(
  { client, query, printer }: CommandContext,
  name: string,
  body: Body<'PATCH /iam/users/:name'>,
  note: string,
): Promise<void> {
  const answer = await client.call('PATCH /iam/users/:name', { parameters: { name }, query, body })
  printer.done(`${name} ${note}`, { name, ...answer })
}

async function remove({ client, query, printer }: CommandContext, name: string): Promise<void> {
  await client.call('DELETE /iam/users/:name', { parameters: { name }, query })
  printer.done(`${name} is deleted; all sessions have ended`)
}

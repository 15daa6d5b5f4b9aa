import type { Command } from 'commander'
import { timeText } from '#cli/table'
import { type Acting, collect, takesTenant, type Work, wholeNumber } from '#cli/work'
import type { Answer, Body } from '#client/client'

const columns = [
  ['NAME', 'name'],
  ['STATE', 'state'],
  ['ROLES', 'roles'],
  ['EMAIL', 'email'],
  ['2FA', 'twoFactor'],
  ['CREATED', 'createdAt'],
] as const

interface Changes {
  /** False: none any more. */
  readonly email?: string | false
  readonly role?: readonly string[]
}

export function addUserCommands(program: Command, act: Acting): void {
  const user = takesTenant(program.command('user').description('people who sign in'))
  user.command('list').description('everybody, by name').action(act(list))
  user
    .command('add <name>')
    .description('invite somebody; prints the code to sign up with')
    .option('--email <address>', 'where to reach them; they may sign in with it too')
    .option('--role <role>', 'what they may do; repeat it for more', collect)
    .option('--expires <seconds>', 'how long the code is good (7 days)', wholeNumber)
    .action(act(add))
  user
    .command('invite <name>')
    .description('a fresh code for somebody who is there: also for a lost password, which works until the code is used')
    .option('--reset-two-factor', 'using the code also takes away the second factors')
    .action(act(invite))
  user
    .command('set <name>')
    .description('change address or roles')
    .option('--email <address>')
    .option('--no-email', 'no address any more')
    .option('--role <role>', 'in place of all roles held; repeat it for more', collect)
    .option('--no-role', 'no role any more')
    .action(act(change))
  user.command('disable <name>').description('lets nobody in by this name; ends every session').action(act(disable))
  user.command('enable <name>').description('undo disable').action(act(enable))
  user.command('delete <name>').description('remove somebody; ends every session').action(act(remove))
}

async function list({ client, query, printer }: Work): Promise<void> {
  printer.list(columns, await client.call('GET /iam/users', { query }))
}

async function add(
  work: Work,
  name: string,
  { email, role = [], expires }: { email?: string; role?: readonly string[]; expires?: number },
): Promise<void> {
  const body = { name, email, roles: [...role], expiresIn: expires }
  invited(work, await work.client.call('POST /iam/users', { query: work.query, body }))
}

async function invite(work: Work, name: string, options: { resetTwoFactor?: boolean }): Promise<void> {
  const { query } = work
  const body = { resetTwoFactor: options.resetTwoFactor }
  invited(work, await work.client.call('POST /iam/users/:name/code', { parameters: { name }, query, body }))
}

function invited({ printer }: Work, invitation: Answer<'POST /iam/users'>): void {
  const { name, code, expiresAt } = invitation
  const until = timeText(expiresAt)
  printer.made(
    invitation,
    code,
    `With this code ${name} chooses a password until ${until}: POST /api/v1/iam/signup {"name","code","password"}`,
  )
}

async function change(
  work: Work,
  name: string,
  { email, role }: Changes & { role?: readonly string[] | false },
): Promise<void> {
  const roles = role === false ? [] : role?.slice()
  await patch(work, name, { email: email === false ? null : email, roles }, 'is changed')
}

async function disable(work: Work, name: string): Promise<void> {
  await patch(work, name, { state: 'disabled' }, 'is disabled; every session has ended')
}

async function enable(work: Work, name: string): Promise<void> {
  await patch(work, name, { state: 'active' }, 'is enabled')
}

/** To a caller who may change users and not read them the server answers no name. */
async function patch(
  { client, query, printer }: Work,
  name: string,
  body: Body<'PATCH /iam/users/:name'>,
  note: string,
): Promise<void> {
  const answer = await client.call('PATCH /iam/users/:name', { parameters: { name }, query, body })
  printer.done(`${name} ${note}`, { name, ...answer })
}

async function remove({ client, query, printer }: Work, name: string): Promise<void> {
  await client.call('DELETE /iam/users/:name', { parameters: { name }, query })
  printer.done(`${name} is deleted; every session has ended`)
}

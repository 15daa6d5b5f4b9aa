import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { type Acting, takesTenant, type Work } from '#cli/work'
import type { Body } from '#client/client'

const columns = [
  ['NAME', 'name'],
  ['GRANTS', 'grants'],
  ['BUILT IN', 'builtIn'],
] as const

type RoleBody = Body<'PUT /iam/roles/:role'>

export function addRoleCommands(program: Command, act: Acting): void {
  const role = takesTenant(program.command('role').description('what users and keys may do'))
  role.command('list').description('all of them, the built-in ones among them').action(act(list))
  role.command('show <role>').description('its grants, as put takes them').action(act(show))
  role
    .command('put <role>')
    .description('make a role, or change what it allows: also for those who are signed in')
    .requiredOption(
      '--file <file>',
      'JSON {"grants":[{"permissions":{"service":["read"]},"devices":["*"],"services":["*"]}]}; - is standard input',
      jsonIn,
    )
    .action(act(put))
  role.command('delete <role>').description('remove a role that nobody holds').action(act(remove))
}

async function list({ client, query, printer }: Work): Promise<void> {
  printer.list(columns, await client.call('GET /iam/roles', { query }))
}

async function show({ client, query, printer }: Work, role: string): Promise<void> {
  const entry = await client.call('GET /iam/roles/:role', { parameters: { role }, query })
  printer.document(entry, { grants: entry.grants })
}

async function put({ client, query, printer }: Work, role: string, { file }: { file: RoleBody }): Promise<void> {
  const answer = await client.call('PUT /iam/roles/:role', { parameters: { role }, query, body: file })
  printer.done(`role ${role} is stored`, answer)
}

async function remove({ client, query, printer }: Work, role: string): Promise<void> {
  await client.call('DELETE /iam/roles/:role', { parameters: { role }, query })
  printer.done(`role ${role} is deleted`)
}

/** Read before anything is asked; the server says what is wrong with it. */
function jsonIn(path: string): RoleBody {
  try {
    return JSON.parse(readFileSync(path === '-' ? 0 : path, 'utf8'))
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { addTenantOption, type CommandAction, type CommandContext } from '#cli/command-context'
import type { Body } from '#client/client'

const columns = [
  ['NAME', 'name'],
  ['GRANTS', 'grants'],
  ['BUILT IN', 'builtIn'],
] as const

type RoleBody = Body<'PUT /iam/roles/:role'>

export function addRoleCommands(program: Command, act: CommandAction): void {
  const role = addTenantOption(program.command('role').description('manage the permissions of users and keys'))
  role.command('list').description('list all roles, including the built-in ones').action(act(list))
  role.command('show <role>').description('show the grants of a role as JSON that `role put` accepts').action(act(show))
  role
    .command('put <role>')
    .description('create or replace a role; it applies to signed-in users within a second')
    .requiredOption(
      '--file <file>',
      'JSON {"grants":[{"permissions":{"service":["read"]},"devices":["*"],"services":["*"]}]}; - is standard input',
      jsonIn,
    )
    .action(act(put))
  role.command('delete <role>').description('delete a role that no user and no key has').action(act(remove))
}

async function list({ client, query, printer }: CommandContext): Promise<void> {
  printer.list(columns, await client.call('GET /iam/roles', { query }))
}

async function show({ client, query, printer }: CommandContext, role: string): Promise<void> {
  const entry = await client.call('GET /iam/roles/:role', { parameters: { role }, query })
  printer.document(entry, { grants: entry.grants })
}

async function put(
  { client, query, printer }: CommandContext,
  role: string,
  { file }: { file: RoleBody },
): Promise<void> {
  const answer = await client.call('PUT /iam/roles/:role', { parameters: { role }, query, body: file })
  printer.done(`role ${role} is stored`, answer)
}

async function remove({ client, query, printer }: CommandContext, role: string): Promise<void> {
  await client.call('DELETE /iam/roles/:role', { parameters: { role }, query })
  printer.done(`role ${role} is deleted`)
}

/** Reads the file before the first request. The server checks the content. */
function jsonIn(path: string): RoleBody {
  try {
    return JSON.parse(readFileSync(path === '-' ? 0 : path, 'utf8'))
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

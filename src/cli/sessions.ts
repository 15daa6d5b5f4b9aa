import type { Command } from 'commander'
import { addTenantOption, type CommandAction, type CommandContext } from '#cli/command-context'

const columns = [
  ['ID', 'id'],
  ['SCHEME', 'scheme'],
  ['CREATED', 'createdAt'],
  ['LAST USED', 'lastUsedAt'],
  ['ADDRESS', 'address'],
  ['AGENT', 'agent'],
] as const

export function addSessionCommands(program: Command, act: CommandAction): void {
  const session = addTenantOption(program.command('session').description('list and end sessions of users'))
  session.command('list <name>').description('list the sessions of a user').action(act(list))
  session
    .command('end <name> [id]')
    .description('end all sessions of a user, or one; their tokens and sockets end too')
    .action(act(end))
}

async function list({ client, query, printer }: CommandContext, name: string): Promise<void> {
  printer.list(columns, await client.call('GET /iam/users/:name/sessions', { parameters: { name }, query }))
}

async function end({ client, query, printer }: CommandContext, name: string, id: string | undefined): Promise<void> {
  if (id === undefined) {
    await client.call('DELETE /iam/users/:name/sessions', { parameters: { name }, query })
    printer.done(`all sessions of ${name} have ended`)
  } else {
    await client.call('DELETE /iam/users/:name/sessions/:id', { parameters: { name, id }, query })
    printer.done(`session ${id} of ${name} has ended`)
  }
}

import type { Command } from 'commander'
import { type Acting, takesTenant, type Work } from '#cli/work'

const columns = [
  ['ID', 'id'],
  ['SCHEME', 'scheme'],
  ['CREATED', 'createdAt'],
  ['LAST USED', 'lastUsedAt'],
  ['ADDRESS', 'address'],
  ['AGENT', 'agent'],
] as const

export function addSessionCommands(program: Command, act: Acting): void {
  const session = takesTenant(program.command('session').description('sign-ins that still hold'))
  session.command('list <name>').description("somebody's sessions").action(act(list))
  session
    .command('end <name> [id]')
    .description("end all of somebody's sessions, or one; their tokens and sockets end with them")
    .action(act(end))
}

async function list({ client, query, printer }: Work, name: string): Promise<void> {
  printer.list(columns, await client.call('GET /iam/users/:name/sessions', { parameters: { name }, query }))
}

async function end({ client, query, printer }: Work, name: string, id: string | undefined): Promise<void> {
  if (id === undefined) {
    await client.call('DELETE /iam/users/:name/sessions', { parameters: { name }, query })
    printer.done(`every session of ${name} has ended`)
  } else {
    await client.call('DELETE /iam/users/:name/sessions/:id', { parameters: { name, id }, query })
    printer.done(`session ${id} of ${name} has ended`)
  }
}

import type { Command } from 'commander'
import * as api from '#api/sessions'
import { Entries, nothing } from '#cli/api-client'
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
  printer.list(columns, await client.call(api.listUserSessions, { parameters: { name }, query }, Entries))
}

async function end({ client, query, printer }: Work, name: string, id: string | undefined): Promise<void> {
  if (id === undefined) {
    await client.call(api.endUserSessions, { parameters: { name }, query }, nothing)
    printer.done(`every session of ${name} has ended`)
  } else {
    await client.call(api.endUserSession, { parameters: { name, id }, query }, nothing)
    printer.done(`session ${id} of ${name} has ended`)
  }
}

import type { Command } from 'commander'
import { type CommandAction, type CommandContext, wholeNumber } from '#cli/command-context'

const columns = [
  ['TIME', 'at'],
  ['NAME', 'name'],
  ['ADDRESS', 'address'],
  ['METHOD', 'method'],
  ['PATH', 'path'],
  ['STATUS', 'status'],
] as const

interface AuditOptions {
  readonly by?: string
  readonly from?: string
  readonly to?: string
  readonly limit: number
}

export function addAuditCommand(program: Command, act: CommandAction): void {
  program
    .command('audit')
    .description('list changes and sign-ins of users and keys, also refused ones, newest first')
    .option('--by <user>', 'name or CRN of the user or key; all by default')
    .option('--from <time>', 'Unix milliseconds, or a time before now such as -7d; 90 days ago by default')
    .option('--to <time>', 'the same, exclusive; now by default')
    .option('--limit <count>', 'number of entries', wholeNumber, 100)
    .action(act(list))
}

async function list({ client, printer }: CommandContext, { by, from, to, limit }: AuditOptions): Promise<void> {
  const query = { limit, ...(by && { user: by }), ...(from && { from }), ...(to && { to }) }
  printer.list(columns, await client.call('GET /audit', { query }))
}

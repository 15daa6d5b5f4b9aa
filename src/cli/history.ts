import { once } from 'node:events'
import { type Command, Option } from 'commander'
import { type CommandAction, type CommandContext, collectValues } from '#cli/command-context'

interface ExportOptions {
  readonly device: readonly string[]
  readonly service: readonly string[]
  readonly properties?: string
  readonly from?: string
  readonly to?: string
  readonly interval?: string
  readonly aggregates?: string
  readonly format: 'csv' | 'ndjson'
}

export function addHistoryCommands(program: Command, act: CommandAction): void {
  const history = program.command('history').description('show the state of the history, and export it')
  history.command('status').description('show how far the history is behind').action(act(status))
  history
    .command('export')
    .description('write the history of services of devices to standard output')
    .requiredOption('--device <id>', 'the device; repeatable', collectValues)
    .requiredOption('--service <id>', 'the service; repeatable', collectValues)
    .option('--properties <names>', 'ids or names, separated by commas; all by default')
    .option('--from <time>', 'Unix milliseconds, or a time before now such as -24h, the default')
    .option('--to <time>', 'the same; not included; now by default')
    .option('--interval <span>', 'a row for each span of time, such as 5m, instead of each point')
    .option('--aggregates <names>', 'with --interval: the columns, such as min,avg,max')
    .addOption(new Option('--format <format>', 'of the file').choices(['csv', 'ndjson']).default('csv'))
    .action(act(exportRows))
}

async function status({ client, printer }: CommandContext): Promise<void> {
  const { history } = await client.call('GET /health/status')
  const text = history ? `${history.lag.entries} events behind, ${history.lag.ms} ms\n` : 'history is off\n'
  printer.text(text, history ?? null)
}

async function exportRows(
  { printer, download }: CommandContext,
  { device, service, ...options }: ExportOptions,
): Promise<void> {
  const query = new URLSearchParams(Object.entries({ ...options }))
  for (const each of device) query.append('deviceIdentifier', each)
  for (const each of service) query.append('serviceIdentifier', each)
  const { out } = printer
  for await (const piece of download(`/history/export?${query}`)) if (!out.write(piece)) await once(out, 'drain')
}

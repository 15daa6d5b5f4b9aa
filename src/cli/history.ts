import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { type Command, Option } from 'commander'
import type { HistoryImport } from '#api/history'
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
  const history = program.command('history').description('show the state of the history, export it, and import values')
  history.command('status').description('show how far the history is behind').action(act(status))
  history
    .command('export')
    .description('write the history of services of devices to standard output')
    .requiredOption('--device <id>', 'the device; repeatable', collectValues)
    .requiredOption('--service <id>', 'the service; repeatable', collectValues)
    .option('--properties <names>', 'ids or names, separated by commas; all by default')
    .option('--from <time>', 'Unix milliseconds, or a span before now such as -24h (default: -24h)')
    .option('--to <time>', 'Unix milliseconds, or a span before now; exclusive (default: now)')
    .option('--interval <span>', 'a row for each span of time, such as 5m, instead of each point')
    .option('--aggregates <names>', 'with --interval: the columns, such as min,avg,max')
    .addOption(new Option('--format <format>', 'format of the output').choices(['csv', 'ndjson']).default('csv'))
    .action(act(exportRows))
  history
    .command('import')
    .description('store the values of a CSV file, such as an export')
    .argument('<file>', 'CSV with the columns deviceIdentifier, serviceIdentifier, time, value, and propId or name')
    .action(act(importRows))
  history
    .command('compact')
    .description('start to delete expired values now, and to free their disk space')
    .action(act(compact))
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

/**
 * A part of the file ends after the row with which it reaches this length. An answered part stays stored, even if a
 * later one fails.
 */
const partCharactersMin = 4 * 1024 * 1024
const detailsMax = 100

async function importRows({ printer, uploadCsv }: CommandContext, file: string): Promise<void> {
  const rejected = { unknown: 0, invalid: 0, old: 0 }
  const total = { rows: 0, stored: 0, rejected, details: [] as HistoryImport['details'] }
  try {
    for await (const { text, linesBefore } of partsOf(file)) {
      const part = (await uploadCsv('/history/import', text)) as HistoryImport
      total.rows += part.rows
      total.stored += part.stored
      for (const reason of ['unknown', 'invalid', 'old'] as const) rejected[reason] += part.rejected[reason]
      const details = part.details.map(({ line, message }) => ({ line: line + linesBefore, message }))
      total.details.push(...details.slice(0, detailsMax - total.details.length))
    }
  } finally {
    const reasons = `${rejected.old} too old, ${rejected.unknown} of unknown properties, ${rejected.invalid} invalid`
    const lines = total.details.map(({ line, message }) => `line ${line}: ${message}\n`)
    printer.text(`${total.rows} rows: ${total.stored} stored, ${reasons}\n${lines.join('')}`, total)
  }
}

/** Splits a file between rows. Each part begins with the heading line of the file. A quoted line break ends no row. */
async function* partsOf(file: string) {
  let head: string | undefined
  let rows = ''
  let lines = 0
  let linesBefore = 0
  let isQuoted = false
  for await (const line of createInterface({ input: createReadStream(file, 'utf8') })) {
    if (head === undefined) {
      head = `${line}\n`
      continue
    }
    rows += `${line}\n`
    lines++
    if (line.split('"').length % 2 === 0) isQuoted = !isQuoted
    if (isQuoted || rows.length < partCharactersMin) continue
    yield { text: head + rows, linesBefore }
    linesBefore = lines
    rows = ''
  }
  if (head !== undefined && (rows !== '' || lines === 0)) yield { text: head + rows, linesBefore }
}

async function compact({ client, printer }: CommandContext): Promise<void> {
  await client.call('POST /history/compact')
  printer.done('the server compacts its history, which may take minutes')
}

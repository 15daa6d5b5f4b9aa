import { createReadStream } from 'node:fs'
import type { Command } from 'commander'
import type { CommandAction, CommandContext } from '#cli/command-context'
import { Misuse } from '#cli/exit-codes'
import { Problem } from '#client/client'
import { CsvReader, type CsvRow } from '#model/csv'
import { deviceIdentifierOf, isDeviceToken } from '#model/identifier'

export function addImportCommands(program: Command, act: CommandAction): void {
  program
    .command('import')
    .description('import devices from another system')
    .command('thingsboard <file>')
    .description('create the devices of a CSV file with the columns token and name; each signs in with its token')
    .action(act(importThingsBoard))
}

const rowCharactersMax = 4_096
const detailsMax = 100

interface Imported {
  created: number
  existing: number
  rejected: number
  readonly details: { readonly line: number; readonly message: string }[]
}

/** A rejected row does not stop the others. Tokens are not printed. */
async function importThingsBoard({ client, printer }: CommandContext, file: string): Promise<void> {
  const total: Imported = { created: 0, existing: 0, rejected: 0, details: [] }
  let columns: { readonly token: number; readonly name: number } | undefined
  for await (const row of rowsOf(file)) {
    if (!row) continue
    const { line, fields = [] } = row
    if (!columns) {
      columns = { token: fields.indexOf('token'), name: fields.indexOf('name') }
      if (columns.token < 0 || columns.name < 0) throw new Misuse('the first line must name the columns token and name')
      continue
    }
    const message = await importRow(client, fields[columns.token] ?? '', fields[columns.name] ?? '', total)
    if (message === undefined) continue
    total.rejected++
    if (total.details.length < detailsMax) total.details.push({ line, message })
  }
  const lines = total.details.map(({ line, message }) => `line ${line}: ${message}\n`)
  const counts = `${total.created} devices created, ${total.existing} existed, ${total.rejected} rows rejected\n`
  printer.text(counts + lines.join(''), total)
}

async function* rowsOf(file: string): AsyncGenerator<CsvRow | undefined> {
  const reader = new CsvReader(rowCharactersMax)
  for await (const piece of createReadStream(file, 'utf8')) yield* reader.push(piece)
  yield* reader.end()
}

/** Returns why the row is rejected. */
async function importRow(
  client: CommandContext['client'],
  token: string,
  name: string,
  total: Imported,
): Promise<string | undefined> {
  const deviceIdentifier = deviceIdentifierOf(name)
  if (deviceIdentifier === undefined) return 'the name is not a device identifier: letters, digits, = and -'
  if (!isDeviceToken(token)) return 'the token must be 16 to 64 printable ASCII characters without spaces'
  const isCreated = await unlessConflict(client.call('POST /devices', { body: { deviceIdentifier } }))
  if (isCreated) total.created++
  else total.existing++
  const parameters = { deviceIdentifier }
  const isSet = await unlessConflict(
    client.call('POST /devices/:deviceIdentifier/token', { parameters, body: { token } }),
  )
  return isSet ? undefined : 'another device has this token'
}

/** Whether the call succeeded; false if the device or the token exists. */
async function unlessConflict(call: Promise<unknown>): Promise<boolean> {
  try {
    await call
    return true
  } catch (error) {
    if (error instanceof Problem && error.status === 409) return false
    throw error
  }
}

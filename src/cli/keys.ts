import { Argument, type Command } from 'commander'
import {
  addTenantOption,
  type CommandAction,
  type CommandContext,
  collectValues,
  wholeNumber,
} from '#cli/command-context'
import { Misuse } from '#cli/exit-codes'
import { Problem } from '#client/client'

/** The columns for API keys and provisioning keys, which share one list. */
const columns = [
  ['ID', 'id'],
  ['KIND', 'kind'],
  ['NAME', 'name'],
  ['ROLES', 'roles'],
  ['DEVICES', 'devices'],
  ['AT MOST', 'maxDevices'],
  ['CREATED', 'createdAt'],
  ['EXPIRES', 'expiresAt'],
] as const

const signingColumns = [
  ['KEY', 'kid'],
  ['CREATED', 'createdAt'],
  ['RETIRES', 'retiresAt'],
] as const

const lists = { api: 'GET /iam/api-keys', provisioning: 'GET /iam/provisioning-keys' } as const
type Kind = keyof typeof lists
const kinds: readonly Kind[] = ['api', 'provisioning']

export function addKeyCommands(program: Command, act: CommandAction): void {
  const key = addTenantOption(
    program.command('key').description('keys of programs, of gateways, and of the server itself'),
  )
  key
    .command('list')
    .description('list API keys and provisioning keys, or those of one kind')
    .addArgument(new Argument('[kind]').choices([...kinds, 'signing']))
    .action(act(list))
  const add = key.command('add').description('create a key, and print it once')
  add
    .command('api <name>')
    .description('for a program: sent as X-API-Key, it acts as a user with these roles')
    .requiredOption('--role <role>', 'role of the key; repeatable', collectValues)
    .option('--expires <seconds>', 'lifetime (default: until it is deleted)', wholeNumber)
    .action(act(addApi))
  add
    .command('provisioning <name>')
    .description('for a gateway: it registers devices and reports for them')
    .option('--max-devices <count>', 'limit of registered devices (default: none)', wholeNumber)
    .option('--expires <seconds>', 'lifetime (default: until it is deleted)', wholeNumber)
    .action(act(addProvisioning))
  key
    .command('delete <id>')
    .description('delete an API key or a provisioning key; closes its sockets and device connections')
    .action(act(remove))
  key
    .command('rotate-signing')
    .description('create a new key for signing tokens, and print its name; sessions stay valid')
    .action(act(rotate))
}

async function list(context: CommandContext, kind: Kind | 'signing' | undefined): Promise<void> {
  const { client, query, printer } = context
  if (kind === 'signing') {
    refuseTenant(context)
    printer.list(signingColumns, await client.call('GET /iam/signing-keys'))
    return
  }
  const found = []
  for (const one of kind === undefined ? kinds : [kind]) {
    const keys = await client.call(lists[one], { query })
    found.push(...keys.map((key) => ({ kind: one, ...key })))
  }
  printer.list(columns, found)
}

async function addApi(
  { client, query, printer }: CommandContext,
  name: string,
  { role, expires: expiresIn }: { role: readonly string[]; expires?: number },
): Promise<void> {
  const created = await client.call('POST /iam/api-keys', { query, body: { name, roles: [...role], expiresIn } })
  printer.secret(created, created.key, `This is the API key ${created.id}; it is shown only once.`)
}

async function addProvisioning(
  { client, query, printer }: CommandContext,
  name: string,
  { maxDevices, expires: expiresIn }: { maxDevices?: number; expires?: number },
): Promise<void> {
  const created = await client.call('POST /iam/provisioning-keys', { query, body: { name, maxDevices, expiresIn } })
  printer.secret(created, created.key, `This is the provisioning key ${created.id}; it is shown only once.`)
}

/** Tries both kinds of keys, so that the caller need not know the kind: only one of the two requests finds the key. */
async function remove({ client, query, printer }: CommandContext, id: string): Promise<void> {
  const refusals: Problem[] = []
  for (const route of ['DELETE /iam/api-keys/:id', 'DELETE /iam/provisioning-keys/:id'] as const) {
    try {
      await client.call(route, { parameters: { id }, query })
      printer.done(`key ${id} is deleted`)
      return
    } catch (error) {
      if (!(error instanceof Problem) || ![403, 404].includes(error.status)) throw error
      refusals.push(error)
    }
  }
  // If the caller lacks permission for one kind, the key may be of this kind.
  throw refusals.find(({ status }) => status === 403) ?? refusals[0]
}

async function rotate(context: CommandContext): Promise<void> {
  refuseTenant(context)
  const answer = await context.client.call('POST /iam/signing-keys')
  context.printer.secret(answer, answer.kid, 'This key now signs tokens.')
}

function refuseTenant({ query }: CommandContext): void {
  if (query.tenant !== undefined) throw new Misuse('--tenant: signing keys belong to the whole server')
}

import { Argument, type Command } from 'commander'
import { Misuse } from '#cli/ending'
import { type Acting, collect, takesTenant, type Work, wholeNumber } from '#cli/work'
import { Problem } from '#client/client'

/** Keys of all kinds in one list, each with its kind. */
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

export function addKeyCommands(program: Command, act: Acting): void {
  const key = takesTenant(program.command('key').description('keys of programs, of gateways, and of the server itself'))
  key
    .command('list')
    .description('API keys and provisioning keys, or those of one kind')
    .addArgument(new Argument('[kind]').choices([...kinds, 'signing']))
    .action(act(list))
  const add = key.command('add').description('make a key; prints it, once')
  add
    .command('api <name>')
    .description('for a program: sent as X-API-Key, it acts as a user with these roles')
    .requiredOption('--role <role>', 'what it may do; repeat it for more', collect)
    .option('--expires <seconds>', 'how long it is good (until it is deleted)', wholeNumber)
    .action(act(addApi))
  add
    .command('provisioning <name>')
    .description('for a gateway: it registers devices and speaks for them')
    .option('--max-devices <count>', 'how many it may register (any number)', wholeNumber)
    .option('--expires <seconds>', 'how long it is good (until it is deleted)', wholeNumber)
    .action(act(addProvisioning))
  key
    .command('delete <id>')
    .description('end an API key with its sockets, or a provisioning key with its links')
    .action(act(remove))
  key
    .command('rotate-signing')
    .description('sign tokens with a new key from now on; prints its name, and signs nobody out')
    .action(act(rotate))
}

async function list(work: Work, kind: Kind | 'signing' | undefined): Promise<void> {
  const { client, query, printer } = work
  if (kind === 'signing') {
    refuseTenant(work)
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
  { client, query, printer }: Work,
  name: string,
  { role, expires: expiresIn }: { role: readonly string[]; expires?: number },
): Promise<void> {
  const made = await client.call('POST /iam/api-keys', { query, body: { name, roles: [...role], expiresIn } })
  printer.made(made, made.key, `This is the API key ${made.id}; it is shown only now.`)
}

async function addProvisioning(
  { client, query, printer }: Work,
  name: string,
  { maxDevices, expires: expiresIn }: { maxDevices?: number; expires?: number },
): Promise<void> {
  const made = await client.call('POST /iam/provisioning-keys', { query, body: { name, maxDevices, expiresIn } })
  printer.made(made, made.key, `This is the provisioning key ${made.id}; it is shown only now.`)
}

/** Nobody should have to know which kind an id is of: only one of the two knows it. */
async function remove({ client, query, printer }: Work, id: string): Promise<void> {
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
  // Where one kind may not even be looked at, it may be of that kind.
  throw refusals.find(({ status }) => status === 403) ?? refusals[0]
}

async function rotate(work: Work): Promise<void> {
  refuseTenant(work)
  const answer = await work.client.call('POST /iam/signing-keys')
  work.printer.made(answer, answer.kid, 'Tokens are signed with this key from now on.')
}

function refuseTenant({ query }: Work): void {
  if (query.tenant !== undefined) throw new Misuse('--tenant: signing keys belong to the whole server')
}

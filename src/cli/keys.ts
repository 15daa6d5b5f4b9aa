import { Argument, type Command } from 'commander'
import { z } from 'zod'
import { createApiKey, deleteApiKey, listApiKeys } from '#api/api-keys'
import { createProvisioningKey, deleteProvisioningKey, listProvisioningKeys } from '#api/provisioning-keys'
import { listSigningKeys, rotateSigningKey } from '#api/signing-keys'
import { type Callable, Entries, nothing } from '#cli/api-client'
import { Misuse, Refusal } from '#cli/ending'
import { type Acting, collect, takesTenant, type Work, wholeNumber } from '#cli/work'

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

const lists = { api: listApiKeys, provisioning: listProvisioningKeys } as const
type Kind = keyof typeof lists
const kinds: readonly Kind[] = ['api', 'provisioning']

/** Shown once. */
const MadeKey = z.looseObject({ id: z.string(), key: z.string() })
const SigningKey = z.looseObject({ kid: z.string() })

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
    printer.list(signingColumns, await client.call(listSigningKeys, {}, Entries))
    return
  }
  const found = []
  for (const one of kind === undefined ? kinds : [kind]) {
    const keys = await client.call(lists[one], { query }, Entries)
    found.push(...keys.map((key) => ({ kind: one, ...key })))
  }
  printer.list(columns, found)
}

async function addApi(
  work: Work,
  name: string,
  { role: roles, expires: expiresIn }: { role: readonly string[]; expires?: number },
): Promise<void> {
  await made(work, createApiKey, { name, roles, expiresIn }, 'API key')
}

async function addProvisioning(
  work: Work,
  name: string,
  { maxDevices, expires: expiresIn }: { maxDevices?: number; expires?: number },
): Promise<void> {
  await made(work, createProvisioningKey, { name, maxDevices, expiresIn }, 'provisioning key')
}

async function made({ client, query, printer }: Work, entry: Callable, body: object, what: string): Promise<void> {
  const answer = await client.call(entry, { query, body }, MadeKey)
  printer.made(answer, answer.key, `This is the ${what} ${answer.id}; it is shown only now.`)
}

/** Nobody should have to know which kind an id is of: only one of the two knows it. */
async function remove({ client, query, printer }: Work, id: string): Promise<void> {
  const refusals: Refusal[] = []
  for (const entry of [deleteApiKey, deleteProvisioningKey]) {
    try {
      await client.call(entry, { parameters: { id }, query }, nothing)
      printer.done(`key ${id} is deleted`)
      return
    } catch (error) {
      if (!(error instanceof Refusal) || ![403, 404].includes(error.status ?? 0)) throw error
      refusals.push(error)
    }
  }
  // Where one kind may not even be looked at, it may be of that kind.
  throw refusals.find(({ status }) => status === 403) ?? refusals[0]
}

async function rotate(work: Work): Promise<void> {
  refuseTenant(work)
  const answer = await work.client.call(rotateSigningKey, {}, SigningKey)
  work.printer.made(answer, answer.kid, 'Tokens are signed with this key from now on.')
}

function refuseTenant({ query }: Work): void {
  if (query.tenant !== undefined) throw new Misuse('--tenant: signing keys belong to the whole server')
}

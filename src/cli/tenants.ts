import { type Command, Option } from 'commander'
import * as api from '#api/tenants'
import { Entries, Entry, nothing } from '#cli/api-client'
import { type Acting, collect, type Work } from '#cli/work'
import { twoFactorPolicies } from '#model/tenant'

const columns = [
  ['TENANT', 'tenantIdentifier'],
  ['NAME', 'name'],
  ['HOSTS', 'hosts'],
  ['2FA', 'twoFactor'],
  ['BASIC', 'basic'],
  ['CREATED', 'createdAt'],
] as const

interface Chosen {
  readonly name?: string
  /** False: under every host. */
  readonly host?: readonly string[] | false
  readonly twoFactor?: string
  readonly basic?: boolean
}

export function addTenantCommands(program: Command, act: Acting): void {
  const tenant = program.command('tenant').description('whom users, roles, keys and devices belong to')
  tenant.command('list').description('all of them').action(act(list))
  tenant
    .command('add <id>')
    .description('make a tenant')
    .requiredOption('--name <name>', 'for people')
    .option('--host <host>', 'sign-in under this host alone; repeat it for more', collect)
    .addOption(policy())
    .option('--no-basic', 'signing in takes more than a password: the DPoP scheme')
    .action(act(add))
  tenant
    .command('set <id>')
    .description('change what is given')
    .option('--name <name>', 'for people')
    .option('--host <host>', 'in place of all hosts there are; repeat it for more', collect)
    .option('--no-host', 'sign-in under every host')
    .addOption(policy())
    .option('--basic', 'a password alone gives tokens')
    .option('--no-basic', 'it does not: the DPoP scheme')
    .action(act(change))
  tenant.command('delete <id>').description('remove a tenant with everything in it').action(act(remove))
}

function policy(): Option {
  return new Option('--two-factor <policy>', 'whether everybody needs a second factor').choices([...twoFactorPolicies])
}

async function list({ client, printer }: Work): Promise<void> {
  printer.list(columns, await client.call(api.listTenants, {}, Entries))
}

async function add({ client, printer }: Work, tenantIdentifier: string, chosen: Chosen): Promise<void> {
  // What is not said is left to the server.
  const body = { tenantIdentifier, ...bodyOf(chosen), basic: chosen.basic === false ? false : undefined }
  printer.done(`tenant ${tenantIdentifier} is made`, await client.call(api.createTenant, { body }, Entry))
}

async function change({ client, printer }: Work, tenantIdentifier: string, chosen: Chosen): Promise<void> {
  const parameters = { tenantIdentifier }
  const answer = await client.call(api.updateTenant, { parameters, body: bodyOf(chosen) }, Entry)
  printer.done(`tenant ${tenantIdentifier} is changed`, answer)
}

async function remove({ client, printer }: Work, tenantIdentifier: string): Promise<void> {
  await client.call(api.deleteTenant, { parameters: { tenantIdentifier } }, nothing)
  printer.done(`tenant ${tenantIdentifier} is unreachable; what it holds is removed in the background`)
}

function bodyOf({ name, host, twoFactor, basic }: Chosen): object {
  return { name, hosts: host === false ? [] : host, twoFactor, basic }
}

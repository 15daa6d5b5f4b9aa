import { type Command, Option } from 'commander'
import { type Acting, collect, type Work } from '#cli/work'
import { type TwoFactorPolicy, twoFactorPolicies } from '#model/tenant'

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
  readonly twoFactor?: TwoFactorPolicy
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
  printer.list(columns, await client.call('GET /iam/tenants'))
}

async function add(
  { client, printer }: Work,
  tenantIdentifier: string,
  chosen: Chosen & { name: string },
): Promise<void> {
  // What is not said is left to the server.
  const body = {
    ...bodyOf(chosen),
    tenantIdentifier,
    name: chosen.name,
    basic: chosen.basic === false ? false : undefined,
  }
  printer.done(`tenant ${tenantIdentifier} is made`, await client.call('POST /iam/tenants', { body }))
}

async function change({ client, printer }: Work, tenantIdentifier: string, chosen: Chosen): Promise<void> {
  const parameters = { tenantIdentifier }
  const answer = await client.call('PATCH /iam/tenants/:tenantIdentifier', { parameters, body: bodyOf(chosen) })
  printer.done(`tenant ${tenantIdentifier} is changed`, { tenantIdentifier, ...answer })
}

async function remove({ client, printer }: Work, tenantIdentifier: string): Promise<void> {
  await client.call('DELETE /iam/tenants/:tenantIdentifier', { parameters: { tenantIdentifier } })
  printer.done(`tenant ${tenantIdentifier} is unreachable; what it holds is removed in the background`)
}

function bodyOf({ name, host, twoFactor, basic }: Chosen) {
  return { name, hosts: host === false ? [] : host?.slice(), twoFactor, basic }
}

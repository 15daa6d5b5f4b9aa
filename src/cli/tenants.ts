import { type Command, Option } from 'commander'
import { type CommandAction, type CommandContext, collectValues } from '#cli/command-context'
import { type TwoFactorPolicy, twoFactorPolicies } from '#model/tenant'

const columns = [
  ['TENANT', 'tenantIdentifier'],
  ['NAME', 'name'],
  ['HOSTS', 'hosts'],
  ['2FA', 'twoFactor'],
  ['BASIC', 'basic'],
  ['CREATED', 'createdAt'],
] as const

interface TenantOptions {
  readonly name?: string
  /** False: sign-in under all hosts. */
  readonly host?: readonly string[] | false
  readonly twoFactor?: TwoFactorPolicy
  readonly basic?: boolean
}

export function addTenantCommands(program: Command, act: CommandAction): void {
  const tenant = program.command('tenant').description('manage tenants, which own users, roles, keys and devices')
  tenant.command('list').description('list all tenants').action(act(list))
  tenant
    .command('add <id>')
    .description('create a tenant')
    .requiredOption('--name <name>', 'the name that users see')
    .option('--host <host>', 'permit sign-in under this host only; repeatable', collectValues)
    .addOption(policy())
    .option('--no-basic', 'refuse the Basic scheme: sign-in needs the DPoP scheme')
    .action(act(add))
  tenant
    .command('set <id>')
    .description('change the given properties of a tenant')
    .option('--name <name>', 'the name that users see')
    .option('--host <host>', 'replace all hosts; repeatable', collectValues)
    .option('--no-host', 'permit sign-in under all hosts')
    .addOption(policy())
    .option('--basic', 'permit the Basic scheme: users without a second factor sign in by password alone')
    .option('--no-basic', 'refuse the Basic scheme: sign-in needs the DPoP scheme')
    .action(act(change))
  tenant.command('delete <id>').description('delete a tenant with all its data').action(act(remove))
}

function policy(): Option {
  return new Option('--two-factor <policy>', 'whether all users need a second factor').choices([...twoFactorPolicies])
}

async function list({ client, printer }: CommandContext): Promise<void> {
  printer.list(columns, await client.call('GET /iam/tenants'))
}

async function add(
  { client, printer }: CommandContext,
  tenantIdentifier: string,
  options: TenantOptions & { name: string },
): Promise<void> {
  // Missing options use the defaults of the server.
  const body = {
    ...bodyOf(options),
    tenantIdentifier,
    name: options.name,
    basic: options.basic === false ? false : undefined,
  }
  printer.done(`tenant ${tenantIdentifier} is created`, await client.call('POST /iam/tenants', { body }))
}

async function change(
  { client, printer }: CommandContext,
  tenantIdentifier: string,
  options: TenantOptions,
): Promise<void> {
  const parameters = { tenantIdentifier }
  const answer = await client.call('PATCH /iam/tenants/:tenantIdentifier', { parameters, body: bodyOf(options) })
  printer.done(`tenant ${tenantIdentifier} is changed`, { tenantIdentifier, ...answer })
}

async function remove({ client, printer }: CommandContext, tenantIdentifier: string): Promise<void> {
  await client.call('DELETE /iam/tenants/:tenantIdentifier', { parameters: { tenantIdentifier } })
  printer.done(`tenant ${tenantIdentifier} is deleted; its data is removed in the background`)
}

function bodyOf({ name, host, twoFactor, basic }: TenantOptions) {
  return { name, hosts: host === false ? [] : host?.slice(), twoFactor, basic }
}

import { useState } from 'preact/hooks'
import { namesIn } from '#dashboard/pages/administration/grants'
import { changedOf, type Edit, Edited, partOf } from '#dashboard/parts/edited'
import { explained } from '#dashboard/parts/explained'
import { Checkbox, Select, TextField } from '#dashboard/parts/fields'
import { Form } from '#dashboard/parts/form'
import { say } from '#dashboard/parts/toasts'
import { client, session } from '#dashboard/session'
import type { TenantEntry } from '#model/tenant'

const policies = [
  { value: 'optional', label: 'for who wants one' },
  { value: 'required', label: 'for everybody' },
] as const

interface TenantFormProps {
  readonly tenant?: TenantEntry | undefined
  readonly onSaved: () => void
  readonly onCancel: () => void
}

/** Makes a tenant, or changes the one that is given. */
export function TenantForm(props: TenantFormProps) {
  if (!props.tenant) return <Fields {...props} />
  return (
    <Edited found={props.tenant} what="this tenant" isHeld>
      {({ begun, check }) => <Fields {...props} tenant={begun} check={check} />}
    </Edited>
  )
}

function Fields({ tenant, check, onSaved, onCancel }: TenantFormProps & Partial<Pick<Edit<TenantEntry>, 'check'>>) {
  const [tenantIdentifier, setIdentifier] = useState(tenant?.tenantIdentifier ?? '')
  const [name, setName] = useState(tenant?.name ?? '')
  const [hosts, setHosts] = useState((tenant?.hosts ?? []).join('\n'))
  const [twoFactor, setTwoFactor] = useState<TenantEntry['twoFactor']>(tenant?.twoFactor ?? 'optional')
  const [basic, setBasic] = useState(tenant?.basic ?? true)
  const chosenHosts = namesIn(hosts)
  const isOwn = tenantIdentifier === session.value.tenant

  const save = async () => {
    const body = { name: name.trim(), hosts: chosenHosts, twoFactor, basic }
    if (tenant) {
      const parameters = { tenantIdentifier }
      const changed = changedOf<typeof body>({ ...tenant, hosts: tenant.hosts ?? [] }, body)
      if (Object.keys(changed).length === 0) return onSaved()
      const unchanged = await check?.(
        () => client.call('GET /iam/tenants/:tenantIdentifier', { parameters }),
        (now) => partOf(now, changed),
      )
      await client.call('PATCH /iam/tenants/:tenantIdentifier', { ...unchanged, parameters, body: changed })
    } else {
      const call = client.call('POST /iam/tenants', { body: { ...body, tenantIdentifier } })
      await explained(call, {
        409: (said) =>
          said.includes('deleted') ? 'One of this name is still being swept. Try again later.' : undefined,
      })
    }
    say(`Tenant ${tenantIdentifier} is ${tenant ? 'changed' : 'made'}`)
    onSaved()
  }
  return (
    <Form
      label="Tenant"
      submit={tenant ? 'Save' : 'Make the tenant'}
      onSubmit={save}
      onCancel={onCancel}
      isUnsaved="touched"
    >
      {!tenant && (
        <TextField
          label="Identifier"
          hint="1 to 63 of a–z, 0–9 and -. It stays."
          isCode
          value={tenantIdentifier}
          onInput={setIdentifier}
          maxLength={63}
          isRequired
          hasFocus
        />
      )}
      <TextField label="Name" hint="For people." value={name} onInput={setName} maxLength={128} isRequired />
      <TextField
        label="Hosts"
        hint="Users sign in under these host names alone, such as devices.acme.example; one a line. Empty: under any."
        rows={2}
        isCode
        value={hosts}
        onInput={setHosts}
        problem={isOwn ? lockedOut(chosenHosts) : undefined}
      />
      <Select
        label="Second factor"
        hint="For everybody: whoever has none sets one up at the next sign-in."
        value={twoFactor}
        options={policies}
        onChange={setTwoFactor}
      />
      <Checkbox
        label="Basic scheme: a password alone gives tokens"
        hint="Off: users sign in with a key of their browser or program (DPoP). The command line then needs an API key."
        isChecked={basic}
        onChange={setBasic}
      />
    </Form>
  )
}

/** Of one's own tenant: under which address one would be the last time. */
function lockedOut(hosts: readonly string[]): string | undefined {
  const { host, hostname } = location
  if (hosts.length === 0 || hosts.some((one) => [host, hostname].includes(one.toLowerCase()))) return undefined
  return `${host}, under which you are here, is not among them: you could not sign in here again.`
}

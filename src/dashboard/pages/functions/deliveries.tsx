import type { Answer } from '#client/client'
import { Button } from '#dashboard/components/button'
import { Section } from '#dashboard/components/page'
import { Status } from '#dashboard/components/status'
import { CallTable, type Column } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useCall } from '#dashboard/components/use-call'
import { client } from '#dashboard/session'

type Delivery = Answer<'GET /functions/:functionId/deliveries'>[number]

const reasons: Readonly<Record<NonNullable<Delivery['reason']>, string>> = {
  timeout: 'no answer in 15 s',
  connection: 'no connection',
  dns: 'unknown host',
  tls: 'no valid certificate',
  address: 'the address is not public',
  unbound: 'the function is disabled, or not bound to the device',
  disabled: 'the step is disabled',
  forbidden: 'the author may not read the trigger',
  secret: 'the secret cannot be read: remove the step and add it again',
  overflow: 'too many were waiting',
  rate: 'too many were requested',
}

const columns: readonly Column<Delivery>[] = [
  { title: 'Time', cell: ({ time }) => <Time at={time} /> },
  { title: 'Step', cell: ({ node }) => <span class="code">{node}</span> },
  {
    title: 'Status',
    cell: ({ status, count }) => (
      <>
        <Status state={status} tone={status === 'DELIVERED' ? 'good' : undefined} /> {count}
      </>
    ),
  },
  { title: 'Answer', cell: ({ httpStatus, reason }) => httpStatus ?? (reason && reasons[reason]) },
  { title: 'Attempts', align: 'end', cell: ({ attempts }) => attempts },
  { title: 'Next attempt', cell: ({ nextAt }) => nextAt !== undefined && <Time at={nextAt} /> },
]

/** The last webhooks of a function. Contract 12. */
export function Deliveries({ functionId }: { readonly functionId: string }) {
  const parameters = { functionId }
  const called = useCall(() => client.call('GET /functions/:functionId/deliveries', { parameters }), [functionId])
  return (
    <Section
      title="Webhooks"
      actions={
        <Button kind="quiet" onPress={called.refresh}>
          Refresh
        </Button>
      }
    >
      <CallTable
        caption="Last webhooks"
        columns={columns}
        call={called}
        rowKey={({ id }) => id}
        empty={<p class="hint">Nothing was sent yet.</p>}
      />
    </Section>
  )
}

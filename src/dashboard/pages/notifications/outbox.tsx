import type { Answer } from '#client/client'
import { Button } from '#dashboard/components/button'
import { CallResult, Facts, Section } from '#dashboard/components/page'
import { Status } from '#dashboard/components/status'
import { type Column, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { useCall, usePolling } from '#dashboard/components/use-call'
import { client } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'

type OutboxCounts = Answer<'GET /notifications/outbox'>
type Failure = OutboxCounts['failures'][number]

/** No event reports the outbox, so it is polled. */
const pollEveryMs = 15_000

const reasons: Readonly<Record<Failure['reason'], string>> = {
  unbound: 'the function was deleted or disabled, or is no longer bound to the device',
  disabled: 'the user was deleted or disabled',
  forbidden: 'the user no longer has the permissions',
  no_address: 'the user has no address',
  bad_address: 'the address of the user does not receive mail',
  resting: 'the address refused several mails in a row',
  no_template: 'the template does not exist',
  too_large: 'the mail would be too large',
  rejected: 'the mail server refused the mail permanently',
  expired: 'the mail could not be sent for a day',
}

const columns: readonly Column<Failure>[] = [
  { title: 'Reason', cell: ({ reason }) => reasons[reason] ?? reason },
  { title: 'Count', align: 'end', cell: ({ count }) => count },
  { title: 'Last', cell: ({ lastAt }) => <Time at={lastAt} /> },
]

/** Counts of mails by state. Contract 5.7. */
export function Outbox() {
  const called = useCall(() => client.call('GET /notifications/outbox'), [])
  usePolling(called.refresh, pollEveryMs)
  return (
    <Section
      title="Mails of this tenant"
      actions={
        <Button kind="quiet" onPress={called.refresh}>
          Refresh
        </Button>
      }
    >
      <CallResult call={called}>{(counts) => <OutboxFacts counts={counts} />}</CallResult>
    </Section>
  )
}

function OutboxFacts({ counts }: { readonly counts: OutboxCounts }) {
  const { waiting, sent, digests, digested, failures, transport } = counts
  const isResting = transport.state === 'resting'
  return (
    <div class="form">
      <Facts
        facts={{
          'Sent by': (
            <>
              {transport.kind === 'smtp' ? 'a mail server' : 'files below the data folder (SMTP_URL is not set)'}{' '}
              <Status state={transport.state} tone={isResting ? 'warning' : 'good'} />
              {transport.lastError && <span class="problem"> {transport.lastError}</span>}
            </>
          ),
          Waiting: `${countText(waiting.requests, 'message')}, for ${countText(waiting.subscribers, 'person', 'people')}`,
          Sent: sent,
          Digests: `${digests}, of ${countText(digested, 'message')}`,
        }}
      />
      <Table
        caption="Mails that were not sent"
        columns={columns}
        rows={failures}
        rowKey={({ reason }) => reason}
        empty={<p class="soft">No failures so far.</p>}
      />
    </div>
  )
}

import type { Answer, Item, Subscription } from '#client/client'
import { idOf } from '#dashboard/binding/binding'
import { Button } from '#dashboard/components/button'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { Select, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link, pathOf } from '#dashboard/components/link'
import { browserLocale, isLocale, LocaleField } from '#dashboard/components/locale'
import { CallResult, Empty, Facts, Loading, Page, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { Status } from '#dashboard/components/status'
import { actionsColumn, type Column, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { useCall, usePolling } from '#dashboard/components/use-call'
import { useObservable } from '#dashboard/components/use-observable'
import { client, liveState, mayUser, session } from '#dashboard/session'
import { countText } from '#dashboard/values/format-value'

type Fn = Item<'GET /functions'>

/** The user's own subscriptions, live, and for administrators the outbox. §2.6 */
export default function NotificationsPage() {
  const mayChoose = mayUser('functions', 'read')
  const called = useCall(async () => (mayChoose ? client.call('GET /functions') : []), [mayChoose])
  const { state, roles = [] } = session.value
  const isOff = state === 'IAM off'
  const { subscriptions: live } = liveState()
  const subscriptions = [...useObservable(live).values()]
  const names = new Map((called.value ?? []).map(({ resourceIdentifier, name }) => [resourceIdentifier, name]))
  return (
    <Page title="Notifications">
      {!isOff && <NoAddress />}
      {isOff && (
        <p class="notice" role="status">
          Authentication is off, so users have no addresses: subscriptions are stored, but no mails are sent.
        </p>
      )}
      <SubscriptionList subscriptions={subscriptions} names={names} isComplete={live.isComplete} />
      {mayUser('notifications', 'create') && (
        <Section title="Subscribe">
          <CallResult call={called}>
            {(functions) =>
              functions.length === 0 ? (
                <Empty title="No functions to subscribe to">
                  <p>Functions send mails to their subscribers.</p>
                  {mayUser('functions', 'create') ? (
                    <p>
                      <Link to="/functions/new">Create a function</Link> first.
                    </p>
                  ) : (
                    <p>You may not create functions. Ask an administrator.</p>
                  )}
                </Empty>
              ) : (
                <SubscribeForm
                  functions={functions.filter((fn) =>
                    subscriptions.every(({ topic }) => topic !== fn.resourceIdentifier),
                  )}
                />
              )
            }
          </CallResult>
        </Section>
      )}
      {/* Only administrators may read the outbox. Contract 5.7. */}
      {(isOff || roles.includes('admin')) && <Outbox />}
    </Page>
  )
}

/** A warning: users without an address may subscribe, but receive no mails. */
function NoAddress() {
  const { value } = useCall(() => client.call('GET /iam/me'), [])
  if (!value || value.email !== undefined) return null
  return (
    <p class="notice warning" role="status">
      <span>
        Your account has no e-mail address, so no mails are sent to you. <Link to="/account">Set an address</Link>
      </span>
    </p>
  )
}

/** The function in the address: `#/notifications?function=7Gm2sXv5Hd`. */
function topicInAddress(): string {
  const id = new URLSearchParams(location.hash.split('?')[1]).get('function')
  return id === null ? '' : `crn#function:${id}`
}

/** Offers the functions that the user may read and is not subscribed to. Mail is the only channel. §2.6 */
function SubscribeForm({ functions }: { readonly functions: readonly Fn[] }) {
  const chosen = useField(topicInAddress)
  const localeField = useField(browserLocale)
  const { value: locale } = localeField
  // A function leaves the list when the user subscribes to it.
  const { resourceIdentifier: topic = '', name } =
    functions.find(({ resourceIdentifier }) => resourceIdentifier === chosen.value) ?? {}
  const subscribe = async () => {
    await withExplanation(client.call('POST /notifications/subscribe', { body: { topic, type: 'email', locale } }), {
      403: 'Subscribing needs permission to read all devices of this function.',
      409: 'You are already subscribed to it.',
    })
    notify(`You are subscribed to ${name}`)
  }
  if (functions.length === 0) return <p class="soft">You are subscribed to all functions that you may read.</p>
  return (
    <Form submit="Subscribe" label="Subscribe" onSubmit={subscribe} isDisabled={topic === '' || !isLocale(locale)}>
      <Select
        label="Function"
        {...chosen}
        value={topic}
        options={[
          { value: '', label: 'Choose' },
          ...functions
            .toSorted((a, b) => a.name.localeCompare(b.name))
            .map((fn) => ({ value: fn.resourceIdentifier, label: fn.enabled ? fn.name : `${fn.name} (disabled)` })),
        ]}
      />
      <p class="hint">By mail, to the address of your account.</p>
      <LocaleField {...localeField} />
    </Form>
  )
}

interface SubscriptionListProps {
  readonly subscriptions: readonly Subscription[]
  /** Names of visible functions, by resource name. */
  readonly names: ReadonlyMap<string, string>
  readonly isComplete: boolean
}

function SubscriptionList({ subscriptions, names, isComplete }: SubscriptionListProps) {
  const nameOf = ({ topic }: Subscription) => names.get(topic) ?? idOf(topic)
  const columns: readonly Column<Subscription>[] = [
    {
      title: 'Function',
      cell: (subscription) =>
        names.has(subscription.topic) ? (
          <Link to={pathOf('functions', idOf(subscription.topic))}>{nameOf(subscription)}</Link>
        ) : (
          <span class="code">{nameOf(subscription)}</span>
        ),
    },
    { title: 'Channel', cell: ({ type }) => type },
    { title: 'Locale', cell: ({ locale }) => <span class="code">{locale}</span> },
    { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
    actionsColumn((subscription) => (
      <div class="actions">
        {mayUser('notifications', 'update') && (
          <DialogButton
            button="Locale…"
            kind="quiet"
            label={`Change the locale of ${nameOf(subscription)}`}
            title={`Locale of ${nameOf(subscription)}`}
          >
            <LocaleForm subscription={subscription} />
          </DialogButton>
        )}
        {mayUser('notifications', 'delete') && (
          <ConfirmButton
            button="End…"
            buttonKind="quiet"
            label={`End the subscription to ${nameOf(subscription)}`}
            confirm="End subscription"
            onConfirm={() => {
              const parameters = { subscriptionId: idOf(subscription.resourceIdentifier) }
              return client.call('DELETE /notifications/subscribe/:subscriptionId', { parameters })
            }}
            done="The subscription has ended"
          >
            <p>You receive no more mails of this function. You can subscribe again.</p>
          </ConfirmButton>
        )}
      </div>
    )),
  ]
  return (
    <Section title="Your subscriptions">
      <Table
        caption="List of subscriptions"
        columns={columns}
        rows={subscriptions}
        rowKey={({ resourceIdentifier }) => resourceIdentifier}
        empty={
          !isComplete ? (
            <Loading text="Loading your subscriptions…" />
          ) : (
            <Empty title="No subscriptions">
              <p>
                {mayUser('notifications', 'create')
                  ? 'Choose a function below to receive its mails at the address of your account.'
                  : 'Your roles do not let you subscribe. Ask an administrator.'}
              </p>
            </Empty>
          )
        }
      />
    </Section>
  )
}

function LocaleForm({ subscription }: { readonly subscription: Subscription }) {
  const field = useField(subscription.locale)
  const { value: locale } = field
  const change = async () => {
    const parameters = { subscriptionId: idOf(subscription.resourceIdentifier) }
    await client.call('PATCH /notifications/subscribe/:subscriptionId', { parameters, body: { locale } })
    notify(`The locale ${locale} is saved`)
  }
  return (
    <Form submit="Change" onSubmit={change} isDisabled={!isLocale(locale)}>
      <LocaleField {...field} />
    </Form>
  )
}

type Failure = Answer<'GET /notifications/outbox'>['failures'][number]

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

const failureColumns: readonly Column<Failure>[] = [
  { title: 'Reason', cell: ({ reason }) => reasons[reason] ?? reason },
  { title: 'Count', align: 'end', cell: ({ count }) => count },
  { title: 'Last', cell: ({ lastAt }) => <Time at={lastAt} /> },
]

/** Counts of mails by state. Contract 5.7. */
function Outbox() {
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
      <CallResult call={called}>
        {({ waiting, sent, digests, digested, failures, transport }) => (
          <div class="form">
            <Facts
              facts={{
                'Sent by': (
                  <>
                    {transport.kind === 'smtp' ? 'a mail server' : 'files below the data folder (SMTP_URL is not set)'}{' '}
                    <Status state={transport.state} tone={transport.state === 'resting' ? 'warning' : 'good'} />
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
              columns={failureColumns}
              rows={failures}
              rowKey={({ reason }) => reason}
              empty={<p class="soft">No failures so far.</p>}
            />
          </div>
        )}
      </CallResult>
    </Section>
  )
}

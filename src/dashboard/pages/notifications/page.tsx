import { useMemo } from 'preact/hooks'
import type { Item, Subscription } from '#client/client'
import { idOf } from '#dashboard/binding/binding'
import { ConfirmButton, DialogButton } from '#dashboard/components/dialog'
import { Select, useField } from '#dashboard/components/fields'
import { Form } from '#dashboard/components/form'
import { Link, pathOf } from '#dashboard/components/link'
import { browserLocale, isLocale, LocaleField } from '#dashboard/components/locale'
import { CallResult, Empty, Loading, Page, Section } from '#dashboard/components/page'
import { withExplanation } from '#dashboard/components/problem-text'
import { actionsColumn, type Column, Table } from '#dashboard/components/table'
import { Time } from '#dashboard/components/time'
import { notify } from '#dashboard/components/toasts'
import { type CallState, useCall } from '#dashboard/components/use-call'
import { useObservable } from '#dashboard/components/use-observable'
import { Outbox } from '#dashboard/pages/notifications/outbox'
import { client, mayUser, session } from '#dashboard/session'
import { liveState } from '#dashboard/state'

type Fn = Item<'GET /functions'>

/** The user's own subscriptions, live, and for administrators the outbox. §2.6 */
export default function NotificationsPage() {
  const mayChoose = mayUser('functions', 'read')
  const called = useCall(async () => (mayChoose ? client.call('GET /functions') : []), [mayChoose])
  const { subscriptions: live } = liveState()
  const subscriptions = [...useObservable(live).values()]
  const names = useMemo(
    () => new Map((called.value ?? []).map(({ resourceIdentifier, name }) => [resourceIdentifier, name])),
    [called.value],
  )
  return (
    <Page title="Notifications">
      {session.value.state !== 'IAM off' && <NoAddress />}
      {session.value.state === 'IAM off' && (
        <p class="notice" role="status">
          Authentication is off, so users have no addresses: subscriptions are stored, but no mails are sent.
        </p>
      )}
      <SubscriptionList subscriptions={subscriptions} names={names} isComplete={live.isComplete} />
      {mayUser('notifications', 'create') && <NewSubscription functions={called} subscriptions={subscriptions} />}
      {isAdministrator() && <Outbox />}
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

/** Only administrators may read the outbox. Contract 5.7. */
function isAdministrator(): boolean {
  const { state: sessionState, roles = [] } = session.value
  return sessionState === 'IAM off' || roles.includes('admin')
}

interface NewSubscriptionProps {
  readonly functions: CallState<readonly Fn[]>
  readonly subscriptions: readonly Subscription[]
}

/** Offers the functions that the user may read and is not subscribed to. Mail is the only channel. §2.6 */
function NewSubscription({ functions, subscriptions }: NewSubscriptionProps) {
  const topics = new Set(subscriptions.map(({ topic }) => topic))
  return (
    <Section title="Subscribe">
      <CallResult call={functions}>
        {(list) => {
          const available = list.filter(({ resourceIdentifier }) => !topics.has(resourceIdentifier))
          if (list.length === 0) return <NoFunction />
          if (available.length === 0) {
            return <p class="soft">You are subscribed to all functions that you may read.</p>
          }
          return <SubscribeForm functions={available.toSorted((a, b) => a.name.localeCompare(b.name))} />
        }}
      </CallResult>
    </Section>
  )
}

function NoFunction() {
  return (
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
  )
}

/** The function in the address: `#/notifications?function=7Gm2sXv5Hd`. */
function topicInAddress(): string {
  const id = new URLSearchParams(location.hash.split('?')[1]).get('function')
  return id === null ? '' : `crn#function:${id}`
}

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
  return (
    <Form submit="Subscribe" label="Subscribe" onSubmit={subscribe} isDisabled={topic === '' || !isLocale(locale)}>
      <Select
        label="Function"
        {...chosen}
        value={topic}
        options={[
          { value: '', label: 'Choose' },
          ...functions.map((fn) => ({
            value: fn.resourceIdentifier,
            label: fn.enabled ? fn.name : `${fn.name} (disabled)`,
          })),
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
            onConfirm={() => endSubscription(subscription)}
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

function endSubscription({ resourceIdentifier }: Subscription): Promise<unknown> {
  const parameters = { subscriptionId: idOf(resourceIdentifier) }
  return client.call('DELETE /notifications/subscribe/:subscriptionId', { parameters })
}

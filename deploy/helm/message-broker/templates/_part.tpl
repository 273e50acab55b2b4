{{/*
A Deployment of the broker's image. A dict:
  root, part            the chart, and the part's name
  values                its replicas, resources and autoscaling
  command               words
  more                  what else its container has: ports, probes, lifecycle
  env                   further variables, by name
  image, claimed        another image; whether it has the claim for reports
  grace                 seconds it is given to end
  single                one at a time, ever
  static                whether it needs static files
*/}}
{{- define "broker.part" -}}
{{- $of := dict "root" .root "part" .part -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "broker.name" .root }}-{{ .part }}
  labels: {{- include "broker.labels" $of | nindent 4 }}
spec:
  {{- if .single }}
  replicas: 1
  strategy:
    type: Recreate
  {{- else }}
  {{- if not (dig "autoscaling" "enabled" false .values) }}
  replicas: {{ .values.replicas }}
  {{- end }}
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
  {{- end }}
  revisionHistoryLimit: 3
  selector:
    matchLabels: {{- include "broker.selector" $of | nindent 6 }}
  template:
    metadata:
      labels: {{- include "broker.labels" $of | nindent 8 }}
      annotations:
        # Another knob makes other pods.
        checksum/config: {{ include "broker.config" .root | sha256sum }}
        {{- with .root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- include "broker.pod-security" 10001 | nindent 6 }}
      {{- include "broker.placing" .root | nindent 6 }}
      terminationGracePeriodSeconds: {{ .grace }}
      {{- if .static }}
      initContainers:
        - name: static-files
          image: {{ include "broker.image" (dict "root" .root "image" .root.Values.image) }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command: [python, manage.py, collectstatic, --noinput]
          {{- include "broker.container" . | nindent 10 }}
      {{- end }}
      containers:
        - name: {{ .part }}
          image: {{ include "broker.image" (dict "root" .root "image" (default .root.Values.image .image)) }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command: {{ .command | toJson }}
          {{- include "broker.container" . | nindent 10 }}
          {{- .more | nindent 10 }}
      {{- include "broker.volumes" (dict "root" .root "claimed" .claimed) | nindent 6 }}
{{- end }}

{{- define "broker.container" -}}
envFrom:
  - configMapRef:
      name: {{ include "broker.name" .root }}
env: {{- include "broker.secrets" .root | nindent 2 }}
{{- range $name, $value := .env }}
  - name: {{ $name }}
    value: {{ $value | quote }}
{{- end }}
resources: {{- toYaml .values.resources | nindent 2 }}
{{ include "broker.container-security" . }}
{{ include "broker.volume-mounts" . }}
{{- end }}

{{/* A Service in front of a part: dict "root" "part" "port" "name". */}}
{{- define "broker.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "broker.name" .root }}-{{ .part }}
  labels: {{- include "broker.labels" . | nindent 4 }}
spec:
  selector: {{- include "broker.selector" . | nindent 4 }}
  ports:
    - name: {{ .name }}
      port: {{ .port }}
      targetPort: {{ .name }}
{{- end }}

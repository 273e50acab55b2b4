#!/bin/sh
# What a container of the Spark image runs. Spark on Kubernetes starts its pods with the word `driver` or `executor` and
# tells the rest by environment variables; anything else is a command, as Docker Compose gives it.
set -eu

driver() {
    exec "$spark/bin/spark-submit" --deploy-mode client \
        --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
        --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" "$@"
}

# Options of the JVM come as SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1 and so on.
executor() {
    set -- "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
        -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}${SPARK_CONF_DIR:+$SPARK_CONF_DIR:}$spark/jars/*" \
        org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
        --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
        --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
        --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
    last=-1
    while eval "[ -n \"\${SPARK_JAVA_OPT_$((last + 1)):-}\" ]"; do last=$((last + 1)); done
    while [ "$last" -ge 0 ]; do
        eval "set -- \"\$SPARK_JAVA_OPT_$last\" \"\$@\""
        last=$((last - 1))
    done
    exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" "$@"
}

case ${1:-} in
    driver | executor)
        spark=$(python -c 'import pyspark; print(pyspark.__path__[0])')
        "$@"
        ;;
    *) exec "$@" ;;
esac
